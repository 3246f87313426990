"""Options of every JVM that runs Spark.

Spark generates one method for each stage. HotSpot does not compile methods of more than 8,000 bytes, and logs nothing about it.
The method of the scoring query has 12,800. In the interpreter, a reading costs 2.5 times the CPU time.
"""

COMPILE_ALL = "-XX:-DontCompileHugeMethods"
