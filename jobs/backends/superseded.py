"""Which dead letters must not be sent again: those of which something newer has come since. Sent now, they would replace it."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contracts import avro
from contracts.feeds import Feed
from jobs.backends import kafka, offset_ledger, tables
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.formats import feed_records

PLACE = ["KafkaPartition", "KafkaOffset"]
LETTER = [*PLACE, "Hash"]  # of the record: a topic that was created again has the same offsets. Letters have all three columns


def readings(session: SparkSession, platform: Platform, feed: Feed, judged: DataFrame) -> DataFrame:
    """Letters of a feed's topic as `feed_records.decode` reads them, with an Error where a newer record of the same reading (of
    ServiceName and Timestamp) is archived, or is yet to be archived, or is a letter itself."""
    reading = ["ServiceName", "Timestamp"]
    table, available = tables.history(platform, feed), kafka.available(platform, feed.topic)
    archived = offset_ledger.archived(table)
    ranges = {partition: kafka.Range(archived.get(partition, 0), each.end).within(each) for partition, each in available.items()}
    writers = Registry(platform).writers(avro.subject(feed.topic), refused=None)
    newest = feed_records.decode(kafka.read_ranges(session, platform, feed.topic, ranges), feed, writers)
    records = newest.where(F.col("Error").isNull()).select(*reading, *PLACE)
    if table.version() >= 0:
        wanted = judged.where(F.col("Error").isNull()).select(*reading).distinct()
        records = records.union(table.read(session).join(F.broadcast(wanted), reading, "left_semi").select(*reading, *PLACE))
    return _marked(judged, records, reading, "reading")


def rows(session: SparkSession, platform: Platform, topic: str, judged: DataFrame) -> DataFrame:
    """Letters of a table's topic as `query_records.decode` reads them, with an Error where the topic has a newer record of the
    same key."""
    records = kafka.read_whole(session, platform, topic).select(
        F.col("key").alias("Key"), F.col("partition").alias("KafkaPartition"), F.col("offset").alias("KafkaOffset")
    )
    return _marked(judged, records, ["Key"], "key")


def _marked(judged: DataFrame, records: DataFrame, identity: list[str], name: str) -> DataFrame:
    good = judged.where(F.col("Error").isNull()).select(*identity, *LETTER)
    # In another partition a record's offset says nothing. A key changes its partition when partitions are added: what is there,
    # is newer. What has no partition came from a file.
    others = records.select(*identity, F.struct(*PLACE, F.lit(True).alias("Record")).alias("_other")).union(
        good.select(*identity, F.struct(*PLACE, F.lit(False).alias("Record")).alias("_other"))
    )
    other, same = F.col("_other"), F.col("_other.KafkaPartition") == F.col("KafkaPartition")
    elsewhere = ~same & other["Record"] & (other["KafkaPartition"] >= 0)
    newer = good.join(others, identity).where((same & (other["KafkaOffset"] > F.col("KafkaOffset"))) | elsewhere)
    found = newer.select(*LETTER).distinct().withColumn("_newer", F.lit(f"a newer record of the same {name} has come since"))
    return judged.join(found, LETTER, "left").withColumn("Error", F.coalesce("Error", "_newer")).drop("_newer")
