"""How each JVM that runs Spark is started, whoever starts it.

Spark makes one method of all that a stage does with a row. HotSpot never compiles a method of more than 8,000 bytes, and says
nothing. That of scoring has 12,800: left to the interpreter, a reading costs 2.5 times the CPU time.
"""

COMPILE_ALL = "-XX:-DontCompileHugeMethods"
