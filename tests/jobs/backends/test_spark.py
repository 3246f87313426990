"""The session that all jobs share."""

import psutil

from supervision.spark_jvm import COMPILE_ALL


def test_the_jvm_compiles_methods_of_any_length(spark):
    """Without the option, the JVM interprets long methods and logs nothing about it."""
    own = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    assert COMPILE_ALL in own.cmdline()
    assert COMPILE_ALL in spark.conf.get("spark.executor.defaultJavaOptions").split()
