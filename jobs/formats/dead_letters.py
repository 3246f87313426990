"""Dead letters: the Kafka record that keeps a bad record of a topic, and back from there to the record as it came."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contracts.declarations import dead_letter_topic

HEADERS = "array<struct<key:string,value:binary>>"  # what the Kafka sink takes as a record's headers
LETTER = ("reason", "topic", "partition", "offset", "key")  # headers that every dead letter of a record has, once each
# And those of a letter that has only the beginning of its record.
CUT = ("value-bytes", "value-sha256", "key-bytes", "key-sha256")
# Bytes of a record's key, value and headers that a letter keeps. Kafka's producer sends 1,048,576 in one record, unless it is
# configured otherwise; the rest is for what a letter has beside its record.
MOST_BYTES = 1_000_000
FIRST_BYTES = 1_000  # of the key and of the value of a larger record
FRAMING = 6  # bytes that Kafka writes beside a header's name and value, at most: the length of each


def letter(topic: str, came_with: Column | None = None) -> list[Column]:
    """The Kafka record (topic, key, value, headers) that keeps a bad record of a topic: its bytes as value, all else as headers.

    Of a row with Error string, Key and Bytes binary, KafkaPartition int, KafkaOffset long. The key names where it came from, so
    that the same record dead-lettered twice is one. came_with: the record's own headers, which are kept beside these.

    A record of more than MOST_BYTES is not kept whole, as Kafka would refuse the letter: it has the first bytes of key and value,
    their sizes and hashes (the headers CUT), and its topic keeps the original at the partition and offset that the letter names.
    """
    origin = F.concat_ws("-", F.lit(topic), "KafkaPartition", "KafkaOffset")
    whole = _bytes(came_with) <= MOST_BYTES
    not_whole = F.when(~whole, f"; more than {MOST_BYTES:,} bytes: the letter has the first {FIRST_BYTES:,} of key and value")
    by_name = {
        "reason": F.concat("Error", F.coalesce(not_whole, F.lit(""))).cast("binary"),
        "topic": F.lit(topic).cast("binary"),
        "partition": F.col("KafkaPartition").cast("string").cast("binary"),
        "offset": F.col("KafkaOffset").cast("string").cast("binary"),
        "key": _kept("Key", whole),
    }
    return [
        F.lit(dead_letter_topic(topic)).alias("topic"),
        origin.cast("binary").alias("key"),
        _kept("Bytes", whole).alias("value"),
        F.when(whole, _with(headers(by_name), came_with)).otherwise(headers(by_name | _sizes())).alias("headers"),
    ]


def row_letter(topic: str, query: str, key: Column, reason: Column, json: Column) -> list[Column]:
    """The Kafka record (topic, key, value, headers) that keeps a row which a query made for a topic and which is no record of it:
    the row as JSON. Of JSON or a key of more than half of MOST_BYTES it has the beginning and the hash.
    """
    value = json.cast("binary")
    whole = F.length(value) <= MOST_BYTES // 2
    by_name = {"reason": reason.cast("binary"), "query": F.lit(query).cast("binary")}
    sizes = {"value-bytes": F.length(value).cast("string").cast("binary"), "value-sha256": F.sha2(value, 256).cast("binary")}
    short = F.length(key.cast("binary")) <= MOST_BYTES // 2
    named = F.when(short, key).otherwise(F.concat_ws("|", F.left(key, F.lit(FIRST_BYTES)), F.sha2(key.cast("binary"), 256)))
    return [
        F.lit(dead_letter_topic(topic)).alias("topic"),
        F.concat_ws("|", F.lit(query), F.when(key.isNotNull(), named)).cast("binary").alias("key"),
        F.when(whole, value).otherwise(F.substring(value, 1, FIRST_BYTES)).alias("value"),
        F.when(whole, headers(by_name)).otherwise(headers(by_name | sizes)).alias("headers"),
    ]


def _bytes(came_with: Column | None) -> Column:
    """Of the record's key and value, and of the headers that it came with: a record of many small headers is large, too."""
    both = F.coalesce(F.length("Key"), F.lit(0)) + F.coalesce(F.length("Bytes"), F.lit(0))
    if came_with is None:
        return both

    def length(each: Column) -> Column:
        return F.octet_length(each["key"]) + F.coalesce(F.length(each["value"]), F.lit(0)) + F.lit(FRAMING)

    lengths = F.transform(came_with, length)
    return both + F.coalesce(F.aggregate(lengths, F.lit(0), lambda sum_, each: sum_ + each), F.lit(0))


def _kept(column: str, whole: Column) -> Column:
    return F.when(whole, F.col(column)).otherwise(F.substring(column, 1, FIRST_BYTES))


def _sizes() -> dict[str, Column]:
    """The headers CUT."""
    columns = {"value": "Bytes", "key": "Key"}
    sizes = {f"{name}-bytes": F.length(column).cast("string").cast("binary") for name, column in columns.items()}
    return sizes | {f"{name}-sha256": F.sha2(column, 256).cast("binary") for name, column in columns.items()}


def headers(by_name: dict[str, Column]) -> Column:
    """Binary columns as a Kafka record's headers."""
    return F.array(*(F.struct(F.lit(name).alias("key"), value.alias("value")) for name, value in by_name.items()))


def _with(own: Column, others: Column | None) -> Column:
    """These headers and the others, without others of the same names."""
    if others is None:
        return own
    return F.concat(own, F.coalesce(F.filter(others, lambda each: ~each["key"].isin(*LETTER, *CUT)), F.array().cast(HEADERS)))


def originals(letters: DataFrame, topic: str, reason: str) -> DataFrame:
    """The records as they came to the topic (key, value, partition, offset), each once: several may have dead-lettered it. Two
    records may have one place, as a topic that was deleted and created again has the same offsets.

    Cut is null for a letter that keeps the whole record. For one that does not, it has the hashes (key, value) of the record, and
    key and value are their first bytes: see `completed`.
    """
    own = F.filter("headers", lambda header: header.key.isin(*LETTER, *CUT))
    read = letters.select("value", F.map_from_entries(F.transform(own, lambda h: F.struct(h.key, h.value))).alias("headers"))

    def header(name: str):
        return F.col("headers")[name].cast("string")

    of_topic = read.where(header("topic") == topic).where(header("reason").contains(reason))
    return of_topic.select(
        F.col("headers")["key"].alias("key"),
        "value",
        header("partition").cast("int").alias("partition"),
        header("offset").cast("long").alias("offset"),
        F.when(
            F.map_contains_key("headers", "value-bytes"),
            F.struct(header("key-sha256").alias("key"), header("value-sha256").alias("value")),
        ).alias("Cut"),
    ).distinct()


def completed(cut: DataFrame, records: DataFrame) -> DataFrame:
    """The whole records (key, value, partition, offset) of letters that have only their beginning, from the records of their
    topic. A record with another hash is none of them: the topic has been deleted and created again since."""
    places = cut.select("partition", "offset", "Cut")
    same = [F.sha2(name, 256).eqNullSafe(F.col("Cut")[name]) for name in ("key", "value")]
    return records.join(places, ["partition", "offset"]).where(same[0] & same[1]).select("key", "value", "partition", "offset")
