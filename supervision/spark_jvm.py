"""Options of every JVM that runs Spark.

Spark generates one method for each stage. HotSpot does not compile methods of more than 8,000 bytes, and logs nothing about it.
The method of the scoring query has 12,800. In the interpreter, a reading costs 2.5 times the CPU time.
"""

from collections.abc import Mapping
from pathlib import Path

COMPILE_ALL = "-XX:-DontCompileHugeMethods"
DRIVER_MEMORY = "2g"
LOGGING = f"-Dlog4j2.configurationFile=file:{Path(__file__).resolve().parent.parent}/docker/spark/log4j2.properties"


def java_options(environment: Mapping[str, str], kind: str) -> str:
    """What the variables of the platform say of the JVM of a job's driver. kind: BATCH or STREAM."""
    variables = "SUNDIAL_JAVA_OPTIONS", f"SUNDIAL_{kind}_JAVA_OPTIONS"
    return " ".join((LOGGING, *(environment.get(name, "") for name in variables))).strip()
