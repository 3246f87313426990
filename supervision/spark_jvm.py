"""Options and memory of every JVM that runs Spark.

Spark generates one method for each stage. HotSpot does not compile methods of more than 8,000 bytes, and logs nothing about it.
The method of the scoring query has 12,800. In the interpreter, a reading costs 2.5 times the CPU time.
"""

import re
from collections.abc import Mapping
from pathlib import Path

COMPILE_ALL = "-XX:-DontCompileHugeMethods"
KINDS = ("BATCH", "STREAM")
MEMORY = "2g"  # heap of a driver, and of each executor of a cluster
LOGGING = f"-Dlog4j2.configurationFile=file:{Path(__file__).resolve().parent.parent}/docker/spark/log4j2.properties"


def java_options(environment: Mapping[str, str], kind: str) -> str:
    """What the variables of the platform say of the JVM of a job's driver. kind: one of KINDS."""
    variables = "SUNDIAL_JAVA_OPTIONS", f"SUNDIAL_{kind}_JAVA_OPTIONS"
    return " ".join((LOGGING, *(environment.get(name, "") for name in variables))).strip()


def memory(environment: Mapping[str, str], kind: str) -> str:
    """Heap of a job's driver and executors, as Spark writes sizes: SUNDIAL_<kind>_MEMORY, else MEMORY. kind: one of KINDS.

    Raises ValueError for what is not such a size.
    """
    name = f"SUNDIAL_{kind}_MEMORY"
    size = environment.get(name) or MEMORY
    if not re.fullmatch(r"[1-9]\d*[mgMG]", size):
        raise ValueError(f"{name} must be a size such as 3g or 2500m, is {size!r}")
    return size
