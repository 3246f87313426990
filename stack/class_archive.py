"""An archive of the classes that Spark loads (JVM class data sharing), so that every later driver starts some seconds sooner.

Run by spark-submit, this file is the training run whose classes go into the archive: Delta, SQL, Parquet, Avro and Kafka classes
that the jobs need. `make` runs it once after the jars are there. Without the archive everything works, only slower.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto"


def make(venv: Path, spark_jars: Path, archive: Path) -> bool:
    """Writes the archive by a training run; whether it is there."""
    archive.unlink(missing_ok=True)
    command = [
        venv / "bin/spark-submit",
        *("--master", "local[2]", "--driver-memory", "1g"),
        *("--conf", f"spark.driver.extraClassPath={spark_jars}/*"),
        *("--conf", f"spark.driver.extraJavaOptions=-XX:ArchiveClassesAtExit={archive} -XX:+UseSerialGC {QUIET}"),
        *(
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            "spark.driver.host=127.0.0.1",
            "--conf",
            "spark.driver.bindAddress=127.0.0.1",
        ),
        *("--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"),
        *("--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        Path(__file__),
    ]
    environment = {"PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home())}
    with (archive.parent / "class-archive.log").open("wb") as log:
        subprocess.run([str(part) for part in command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    return archive.exists()


def java_options(archive: Path) -> str:
    """What makes a JVM use the archive; nothing where there is none."""
    return f"-XX:SharedArchiveFile={archive} {QUIET}" if archive.exists() else ""


KAFKA_AND_AVRO = (
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    "org.apache.spark.sql.kafka010.KafkaBatchPartitionReader",
    "org.apache.spark.sql.kafka010.KafkaDataWriter",
    "org.apache.spark.sql.avro.AvroDataToCatalyst",
    "org.apache.spark.sql.avro.CatalystDataToAvro",
    "org.apache.kafka.clients.producer.KafkaProducer",
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.kafka.clients.admin.KafkaAdminClient",
)


def train() -> None:
    """A small life of a driver: write, merge, group, join, window and read a Delta table, and run a stream over it."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    spark = SparkSession.builder.getOrCreate()
    for name in KAFKA_AND_AVRO:
        spark._jvm.java.lang.Class.forName(name)
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/table"
        rows = spark.range(10_000).selectExpr("id", "id % 7 AS day", "cast(id AS string) AS name", "timestamp_seconds(id) AS at")
        rows.repartition("day").sortWithinPartitions("id").write.format("delta").partitionBy("day").save(table)
        rows.createOrReplaceTempView("arrived")
        spark.sql(f"""
            MERGE INTO delta.`{table}` AS kept USING arrived ON kept.day IN (1, 2) AND kept.id = arrived.id
            WHEN MATCHED AND arrived.id > 5000 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
        """)
        kept = spark.read.format("delta").load(table)
        hour = F.hour(F.from_utc_timestamp("at", "America/New_York"))
        grouped = kept.groupBy("day", hour.alias("hour")).agg(F.avg("id").alias("mean"), F.collect_list("id").alias("ids"))
        spread = (
            grouped.select("day", "mean", F.explode("ids").alias("id")).groupBy("day").agg(F.median(F.col("id") - F.col("mean")))
        )
        packed = (
            grouped.join(spread, on="day", how="left").groupBy("day").agg(F.array_sort(F.collect_list(F.struct("hour", "mean"))))
        )
        packed.write.format("delta").save(f"{folder}/packed")
        spark.read.format("delta").load(f"{folder}/packed").cache().count()
        stream = spark.readStream.schema(rows.schema).parquet(table).join(F.broadcast(spread), on="day", how="left")
        query = stream.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
        query.start().awaitTermination(120)
    spark.stop()


if __name__ == "__main__":
    sys.exit(train())
