"""The Spark session of every job: UTC, Delta, and the jars that stand beside pyspark's own."""

import re

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from jobs.backends import settings
from jobs.backends.settings import Platform
from supervision import spark_history
from supervision.spark_jvm import COMPILE_ALL

# What Avro may allocate for one value because its bytes claim that length. Without limits, five bytes ask for two gigabytes and
# end the JVM. Avro reads these when it decodes for the first time.
_AVRO_LIMITS = {
    "org.apache.avro.limits.bytes.maxLength": 16_000_000,
    "org.apache.avro.limits.string.maxLength": 16_000_000,
    "org.apache.avro.limits.collectionItems.maxLength": 1_000_000,
}
# Of queries with state.
_STATE_STORE = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
_STREAM = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # By default, Spark does not note the start of a task if it noted the start of the stage less than 100 ms before. Then a
    # driver learns only from the executor's next heartbeat, up to ten seconds later, that a real-time query works.
    "spark.ui.liveUpdate.period": "0",
}


def session(name: str, platform: Platform, **conf: str) -> SparkSession:
    """A session named `name`. Master and resources come from the submit, local[2] by plain python; `conf` adds the job's own."""
    builder = SparkSession.builder.appName(name)
    for key, value in (_settings(platform) | conf).items():
        builder = builder.config(key, value)
    created = builder.getOrCreate()
    for key, limit in _AVRO_LIMITS.items():
        created.sparkContext._jvm.java.lang.System.setProperty(key, str(limit))  # of the driver, whose JVM may be there already
    created.sparkContext.setLogLevel("WARN")
    if platform.events:
        print(spark_history.line(created.sparkContext.applicationId), flush=True)
    return created


def stream_session(name: str, platform: Platform) -> SparkSession:
    """A session of a stream's driver. It writes no tables: those shall have Hadoop's checksums.

    A checkpoint is many small files. By default, Hadoop writes a second file with the checksum of each. pyspark comes without its
    native library, so it starts eight processes for both (chmod, readlink). Like this it starts two for each file.
    """
    created = session(name, platform, **_STREAM)
    context = created.sparkContext
    local = context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration())
    local.setWriteChecksum(False)
    local.setVerifyChecksum(False)  # one from before may be of other content
    return created


def cores(created: SparkSession) -> int | None:
    """How many cores the application has at most, as it was submitted; None where a cluster's manager decides."""
    master, conf = created.sparkContext.master, created.conf
    if found := re.fullmatch(r"local\[(\d+)(, *\d+)?\]", master):
        return int(found[1])
    if master.startswith("spark:"):
        most = conf.get("spark.cores.max", None)
        return int(most) if most else None
    if not master.startswith(("yarn", "k8s:")):
        return None
    if (conf.get("spark.dynamicAllocation.enabled", None) or "false").lower() == "true":
        executors = conf.get("spark.dynamicAllocation.maxExecutors", None)
    else:
        executors = conf.get("spark.executor.instances", None) or "2"
    return int(executors) * int(conf.get("spark.executor.cores", None) or "1") if executors else None


def with_state(created: SparkSession) -> SparkSession:
    """The session, able to run queries with state as a batch too: Spark makes the coordinator of states only with its streams."""
    created.streams.resetTerminated()
    for name, value in _STATE_STORE.items():
        created.conf.set(name, value)
    return created


def _settings(platform: Platform) -> dict[str, str]:
    conf = {
        "spark.driver.extraClassPath": f"{platform.jars}/*",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
        # Otherwise each function of a column asks the JVM several things, so that errors name the line of Python that made it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.python.daemon.module": "jobs.backends.python_daemon",
        "spark.executor.defaultJavaOptions": " ".join(
            (COMPILE_ALL, *(f"-D{key}={limit}" for key, limit in _AVRO_LIMITS.items()))
        ),
    }
    if not settings.submitted():
        conf |= {"spark.master": "local[2]", "spark.driver.defaultJavaOptions": COMPILE_ALL}
    if platform.events:
        conf |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": platform.events}
    if secret := settings.spark_secret():
        conf["spark.authenticate.secret"] = secret  # masters and workers look into the environment themselves, drivers do not
    if conf.get("spark.master", _submitted_master()).startswith("local"):
        # Driver and executor are one process: nothing of it need be reached from another machine.
        # For the same reason a broadcast gains nothing from being compressed.
        loopback = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        conf |= loopback | {"spark.broadcast.compress": "false"}
        settings.python_workers_are_as_this()
    return conf


def _submitted_master() -> str:
    """The master that spark-submit was given. Its JVM is there already; without one, asking would start it with no settings."""
    if not settings.submitted():
        return ""
    SparkContext._ensure_initialized()
    return SparkConf().get("spark.master", "")
