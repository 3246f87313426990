"""A feed's readings: from Kafka records, with an Error for each that is none, and scored ones to the records of its topics."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contracts.declarations import Duration
from contracts.feeds import Feed
from jobs.formats import dead_letters, time_bounds, wire
from jobs.formats.wire import Writers


def decode(records: DataFrame, feed: Feed, writers: Writers) -> DataFrame:
    """Records of a feed's topic as Spark's Kafka source gives them (key, value, partition, offset, timestamp) as readings:
    ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long, KafkaTimestamp timestamp (when the
    broker took the record), and beside them Error string, null for a good record, with Key and Bytes as they came (binary):
    never a crash, never a null row.
    """
    taken = records.select(
        F.col("key").alias("Key"),
        F.col("value").alias("Bytes"),
        F.col("partition").alias("KafkaPartition"),
        F.col("offset").alias("KafkaOffset"),
        F.col("timestamp").alias("KafkaTimestamp"),
    )
    return taken.withColumn("_reading", wire.decode("Bytes", feed.record, writers)).select(
        F.col("Key").cast("string").alias("ServiceName"),
        # Arithmetic on an extreme time overflows, so a time beyond the bounds is null.
        F.when(time_bounds.within(*_bounds(feed)), F.col("_reading")[feed.time]).alias("Timestamp"),
        F.col("_reading")[feed.value].alias("Value"),
        "KafkaPartition",
        "KafkaOffset",
        "KafkaTimestamp",
        _error(feed, writers).alias("Error"),
        "Key",
        "Bytes",
    )


def _error(feed: Feed, writers: Writers) -> Column:
    value, time = F.col("_reading")[feed.value], F.col("_reading")[feed.time]
    bytes_, text = F.length("Key"), F.is_valid_utf8(F.col("Key").cast("string"))
    bounds = _bounds(feed)
    too_long = f"; the feed's longest_service is {feed.longest_service}"
    wrong = (
        F.when(time.isNull() | value.isNull(), f"no {feed.time} or no {feed.value} in the record")
        .when(value < 0, F.concat(F.lit("negative reading "), value.cast("string")))
        .when(~time_bounds.within(*bounds), time_bounds.reason(feed.time, *bounds))
        .when(bytes_ > feed.longest_service, F.concat(F.lit("service name of "), bytes_, F.lit(f" bytes{too_long}")))
        .when(~text, "service name is not UTF-8 text")
        .otherwise("no service name in the record's key")
    )
    named = (bytes_ > 0) & (bytes_ <= feed.longest_service) & text
    good = (
        wire.whole(F.col("_reading")) & (value >= 0) & time_bounds.within(*bounds) & named
    )  # asked first: most are, and need no reason
    unreadable = wire.reason("Bytes", F.col("_reading"), feed.record, writers)
    return F.when(good, F.lit(None).cast("string")).otherwise(F.coalesce(unreadable, wrong))


def _bounds(feed: Feed) -> tuple[Column, Column, Duration, Duration]:
    return F.col("_reading")[feed.time], F.col("KafkaTimestamp"), feed.most_ahead, feed.oldest


def route(scored: DataFrame, feed: Feed, schema_ids: dict[str, int]) -> DataFrame:
    """Kafka records (topic, key, value, headers) of scored readings: each to the scored topic, anomalies to theirs as well, and
    records with an Error to the dead-letter topic. One row in, one or two out, so a reading is decoded once for all topics. The
    anomaly comes first, because people wait for it.

    schema_ids: registry id of the records `scored` and `anomaly`.
    """
    key = F.concat_ws("|", "ServiceName", F.unix_millis("Timestamp")).cast("binary")
    bad = F.struct(*dead_letters.letter(feed.topic))
    no_headers = F.lit(None).cast(dead_letters.HEADERS)

    def record(topic: str, value: Column) -> Column:
        return F.struct(
            F.lit(topic).alias("topic"), F.col("_key").alias("key"), value.alias("value"), no_headers.alias("headers")
        )

    good = F.col("Error").isNull()
    encoded = scored.withColumn("_key", key).withColumn("_scored", F.when(good, wire.encode("scored", schema_ids["scored"])))
    to_scored = record(feed.scored_topic, F.col("_scored"))
    to_anomalies = record(feed.anomalies_topic, wire.encode("anomaly", schema_ids["anomaly"]))
    outputs = F.when(~good, F.array(bad)).when(F.col("Anomalous"), F.array(to_anomalies, to_scored)).otherwise(F.array(to_scored))
    # The outputs stand in a projection of their own, as a generator's argument is interpreted row by row instead of compiled;
    # explode_outer, as explode makes the optimizer filter on the array's size first and so compute every output twice.
    return encoded.select(outputs.alias("_outputs")).select(F.explode_outer("_outputs").alias("_output")).select("_output.*")
