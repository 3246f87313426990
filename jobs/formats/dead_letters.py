"""Dead letters: the Kafka record that keeps a bad record of a topic, and back from there to the record as it came."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contracts.declarations import dead_letter_topic

HEADERS = "array<struct<key:string,value:binary>>"  # what the Kafka sink takes as a record's headers
LETTER = ("reason", "topic", "partition", "offset", "key")  # headers that every dead letter of a record has, once each


def letter(topic: str, came_with: Column | None = None) -> list[Column]:
    """The Kafka record (topic, key, value, headers) that keeps a bad record of a topic: its bytes as value, all else as headers.

    Of a row with Error string, Key and Bytes binary, KafkaPartition int, KafkaOffset long. The key names where it came from, so
    that the same record dead-lettered twice is one. came_with: the record's own headers, which are kept beside these.
    """
    origin = F.concat_ws("-", F.lit(topic), "KafkaPartition", "KafkaOffset")
    by_name = {
        "reason": F.col("Error").cast("binary"),
        "topic": F.lit(topic).cast("binary"),
        "partition": F.col("KafkaPartition").cast("string").cast("binary"),
        "offset": F.col("KafkaOffset").cast("string").cast("binary"),
        "key": F.col("Key"),
    }
    return [
        F.lit(dead_letter_topic(topic)).alias("topic"),
        origin.cast("binary").alias("key"),
        F.col("Bytes").alias("value"),
        _with(headers(by_name), came_with).alias("headers"),
    ]


def headers(by_name: dict[str, Column]) -> Column:
    """Binary columns as a Kafka record's headers."""
    return F.array(*(F.struct(F.lit(name).alias("key"), value.alias("value")) for name, value in by_name.items()))


def _with(own: Column, others: Column | None) -> Column:
    """These headers and the others, without others of the same names."""
    if others is None:
        return own
    return F.concat(own, F.coalesce(F.filter(others, lambda each: ~each["key"].isin(*LETTER)), F.array().cast(HEADERS)))


def originals(letters: DataFrame, topic: str, reason: str) -> DataFrame:
    """The records as they came to the topic (key, value, partition, offset), each once: several may have dead-lettered it."""
    own = F.filter("headers", lambda header: header.key.isin(*LETTER))
    read = letters.select("value", F.map_from_entries(F.transform(own, lambda h: F.struct(h.key, h.value))).alias("headers"))

    def header(name: str):
        return F.col("headers")[name].cast("string")

    of_topic = read.where(header("topic") == topic).where(header("reason").contains(reason))
    return of_topic.select(
        F.col("headers")["key"].alias("key"),
        "value",
        header("partition").cast("int").alias("partition"),
        header("offset").cast("long").alias("offset"),
    ).dropDuplicates(["partition", "offset"])
