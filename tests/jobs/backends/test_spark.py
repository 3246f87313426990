"""The session that all jobs share."""

from types import SimpleNamespace

import psutil
import pytest

from jobs.backends.spark import cores
from supervision.spark_jvm import COMPILE_ALL


def test_the_jvm_compiles_methods_of_any_length(spark):
    """Without the option, the JVM interprets long methods and logs nothing about it."""
    own = psutil.Process(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    assert COMPILE_ALL in own.cmdline()
    assert COMPILE_ALL in spark.conf.get("spark.executor.defaultJavaOptions").split()


SUBMITTED = {"spark.cores.max": "16"}  # dags/spark_job.py sets it for every master
EXECUTORS = SUBMITTED | {"spark.executor.instances": "3", "spark.executor.cores": "4"}
DYNAMIC = EXECUTORS | {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("master", "conf", "most"),
    [
        ("local[2]", SUBMITTED, 2),
        ("local[4,3]", SUBMITTED, 4),
        ("local[*]", SUBMITTED, None),
        ("spark://spark-master:7077", SUBMITTED, 16),
        ("spark://spark-master:7077", {}, None),
        ("yarn", EXECUTORS, 12),
        ("k8s://https://kubernetes.default.svc", EXECUTORS, 12),
        ("yarn", SUBMITTED, 2),  # by default, Spark asks for two executors with one core each
        ("k8s://https://kubernetes.default.svc", SUBMITTED | {"spark.executor.instances": "5"}, 5),
        ("yarn", DYNAMIC, None),
        ("yarn", DYNAMIC | {"spark.dynamicAllocation.maxExecutors": "5"}, 20),
    ],
)
def test_an_application_has_the_cores_that_its_master_gives_it(master, conf, most):
    assert cores(SimpleNamespace(sparkContext=SimpleNamespace(master=master), conf=conf)) == most


def test_a_session_knows_the_cores_with_which_it_was_submitted(spark):
    assert cores(spark) == spark.sparkContext.defaultParallelism
