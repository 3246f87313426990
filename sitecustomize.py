"""Python runs this file at the start of each process that has the repository on its path: the jobs, and Spark's Python workers.

Spark puts archives of pyspark and py4j in front of the path. An archive has no compiled modules, so each process would compile
all that it imports: 0.8 s of CPU time for a job. Both packages are installed in this environment, compiled.
"""

import sys
from pathlib import PurePath

for entry in [entry for entry in sys.path if PurePath(entry).name.startswith(("pyspark", "py4j", "spark-core"))]:
    sys.path.remove(entry)
    sys.path_importer_cache.pop(entry, None)
