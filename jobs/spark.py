"""The Spark session of every job: UTC, Delta, and the jars that stand beside pyspark's own."""

from pyspark import SparkConf
from pyspark.sql import SparkSession

from jobs.settings import Platform


def session(name: str, platform: Platform, **conf: str) -> SparkSession:
    """A session named `name`. Master and resources come from the submit, local[2] by plain python; `conf` adds the job's own."""
    builder = SparkSession.builder.appName(name)
    for key, value in (_settings(platform) | conf).items():
        builder = builder.config(key, value)
    created = builder.getOrCreate()
    created.sparkContext.setLogLevel("WARN")
    return created


def _settings(platform: Platform) -> dict[str, str]:
    settings = {
        "spark.driver.extraClassPath": f"{platform.jars}/*",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    master = SparkConf().get("spark.master", "")
    if not master or master.startswith("local"):
        # Driver and executor are one process: nothing of it need be reached from another machine.
        settings |= {
            "spark.master": master or "local[2]",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
    return settings
