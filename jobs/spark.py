"""The Spark session of every job: UTC, Delta, and the jars that stand beside pyspark's own."""

from pyspark.sql import SparkSession

from jobs.settings import Platform


def session(name: str, platform: Platform, **conf: str) -> SparkSession:
    """A session named `name`. Master and resources come from the submit; `conf` adds what the job itself needs.

    When started by plain python instead of spark-submit, a local master with two threads is used.
    """
    builder = SparkSession.builder.appName(name)
    if not SparkSession.getActiveSession():
        settings = {
            "spark.driver.extraClassPath": f"{platform.jars}/*",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.showConsoleProgress": "false",
            "spark.databricks.delta.snapshotPartitions": "2",
            **conf,
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
    return builder.getOrCreate()
