"""An archive of the classes that Spark loads (JVM class data sharing), so that every later driver starts some seconds sooner.

Run by spark-submit, this file is the training run whose classes go into the archive: those of Delta, SQL, Parquet, Arrow, Avro
and Kafka that the jobs need. `make` runs it once after the jars are there. Without the archive everything works, only slower.
"""

import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto"


def make(venv: Path, spark_jars: Path, archive: Path) -> bool:
    """Writes the archive by a training run; whether that went well, and the archive is there."""
    archive.unlink(missing_ok=True)
    draft = archive.with_suffix(".draft")  # a driver that starts meanwhile finds no archive rather than a part of one
    command = [
        venv / "bin/spark-submit",
        *("--master", "local[2]", "--driver-memory", "1g"),
        *("--conf", f"spark.driver.extraClassPath={spark_jars}/*"),
        *("--conf", f"spark.driver.extraJavaOptions=-XX:ArchiveClassesAtExit={draft} -XX:+UseSerialGC {QUIET}"),
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
        done = subprocess.run([str(part) for part in command], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if done.returncode == 0 and draft.exists():
        draft.replace(archive)
    draft.unlink(missing_ok=True)  # the JVM archives what it has loaded, however its run ended
    return archive.exists()


def java_options(archive: Path) -> str:
    """What makes a JVM use the archive; nothing where there is none."""
    return f"-XX:SharedArchiveFile={archive} {QUIET}" if archive.exists() else ""


NOBODY = {  # a broker that is not there, and how long it is looked for
    "bootstrap.servers": "127.0.0.1:9",
    "default.api.timeout.ms": "1000",
    "request.timeout.ms": "500",
    "max.block.ms": "500",
}


def train() -> None:
    """A small life of a driver: a night on Delta tables, Avro, Arrow, Kafka's clients and a stream that looks for its broker."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        train_night(spark, folder)
        train_stream(spark, folder)
    train_kafka(spark)
    spark.stop()


def train_night(spark, folder: str) -> None:
    """Write, merge, group, join, window and read a Delta table, and run a stream over it."""
    from pyspark.sql import functions as F

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
    spread = grouped.select("day", "mean", F.explode("ids").alias("id")).groupBy("day").agg(F.median(F.col("id") - F.col("mean")))
    packed = (
        grouped.join(spread, on="day", how="left")
        .groupBy("day")
        .agg(F.array_sort(F.collect_list(F.struct("hour", "mean"))).alias("means"))
    )
    packed.write.format("delta").save(f"{folder}/packed")
    spark.read.format("delta").load(f"{folder}/packed").cache().count()
    stream = spark.readStream.schema(rows.schema).parquet(table).join(F.broadcast(spread), on="day", how="left")
    query = stream.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    query.start().awaitTermination(120)


def train_stream(spark, folder: str) -> None:
    """Rows by way of Arrow and Avro, and a stream in real-time mode as far as it comes without a broker."""
    import pyarrow
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro, to_avro

    record = '{"type": "record", "name": "Row", "fields": [{"name": "value", "type": "long"}]}'
    rows = spark.createDataFrame(pyarrow.table({"value": [1, 2, 3]})).cache()
    rows.select(from_avro(to_avro(F.struct("value"), record), record).alias("row")).select("row.value").collect()
    kafka = {f"kafka.{name}": value for name, value in NOBODY.items()}
    source = spark.readStream.format("kafka").options(**kafka, subscribe="topic").load().select("key", "value")
    sink = source.writeStream.format("kafka").options(**kafka, topic="topic", checkpointLocation=f"{folder}/stream")
    with suppress(StreamingQueryException):  # as there is no broker
        sink.outputMode("update").trigger(realTime="5 seconds").start().awaitTermination(30)


def train_kafka(spark) -> None:
    """Kafka's clients, each as far as it comes without a broker."""
    jvm = spark._jvm
    clients, serialization = jvm.org.apache.kafka.clients, jvm.org.apache.kafka.common.serialization
    settings = jvm.java.util.HashMap()
    for name, value in NOBODY.items():
        settings.put(name, value)
    bytes_in, bytes_out = serialization.ByteArrayDeserializer, serialization.ByteArraySerializer
    consumer = clients.consumer.KafkaConsumer(settings, bytes_in(), bytes_in())
    consumer.assign(jvm.java.util.List.of(jvm.org.apache.kafka.common.TopicPartition("topic", 0)))
    consumer.poll(jvm.java.time.Duration.ofMillis(200))
    producer = clients.producer.KafkaProducer(settings, bytes_out(), bytes_out())
    for client in (clients.admin.AdminClient.create(settings), consumer, producer):
        client.close(jvm.java.time.Duration.ofMillis(200))


if __name__ == "__main__":
    train()
