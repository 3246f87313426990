"""Avro on the wire, as Columns: Kafka records to readings with an error for each that is none, and results to records."""

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from contracts import avro
from contracts.feeds import Feed

HEADER_BYTES = avro.HEADER.size


UNKNOWN_SCHEMA = "sundial-unknown-schema-id="  # what a record's unknown schema id is raised as


def decode(
    records: DataFrame, feed: Feed, writer_schemas: dict[int, str], refused_ids: frozenset[int] | None = None
) -> DataFrame:
    """Records of a feed's topic as Spark's Kafka source gives them (key, value, partition, offset) as readings:
    ServiceName string, Timestamp timestamp, Value long, KafkaPartition int, KafkaOffset long, and beside them
    Error string, null for a good record, with Key and Bytes as they came (binary): never a crash, never a null row.

    writer_schemas: Avro schema by the id that the registry gave it; each is resolved to the newest version in `schemas/`.
    refused_ids: ids that the registry is known not to have for this topic; a record with one is an Error. Any other unknown id
      fails the query with UNKNOWN_SCHEMA and the id, for the driver to ask the registry and plan anew. None: refuse them all.
    """
    reader = {"mode": "PERMISSIVE", "avroSchema": json.dumps(avro.latest(feed.record))}
    payload = F.substring("Bytes", HEADER_BYTES + 1, 1 << 30)
    reading = F.lit(None)
    for schema_id, schema in sorted(writer_schemas.items()):
        decoded = from_avro(payload, schema, reader)
        reading = F.when(_header() == _header_of(schema_id), decoded).otherwise(reading)
    taken = records.select(
        F.col("key").alias("Key"),
        F.col("value").alias("Bytes"),
        F.col("partition").alias("KafkaPartition"),
        F.col("offset").alias("KafkaOffset"),
    )
    return taken.withColumn("_reading", reading).select(
        F.col("Key").cast("string").alias("ServiceName"),
        F.col("_reading")[feed.time].alias("Timestamp"),
        F.col("_reading")[feed.value].alias("Value"),
        "KafkaPartition",
        "KafkaOffset",
        _error(feed, writer_schemas, refused_ids).alias("Error"),
        "Key",
        "Bytes",
    )


def encode(record: str, schema_id: int) -> Column:
    """A row whose columns are named as the fields of that record's newest contract, in the Confluent wire format (binary)."""
    schema = avro.latest(record)
    fields = F.struct(*(F.col(field["name"]) for field in schema["fields"]))
    return F.concat(_header_of(schema_id), to_avro(fields, json.dumps(schema)))


def dead_letter(feed: Feed) -> list[Column]:
    """The Kafka record (topic, key, value, headers) that keeps a bad record of `decode`: its bytes as value, all else as headers.

    The key names where it came from, so that the same record dead-lettered twice is one.
    """
    origin = F.concat_ws("-", F.lit(feed.topic), "KafkaPartition", "KafkaOffset")
    headers = {
        "reason": F.col("Error").cast("binary"),
        "topic": F.lit(feed.topic).cast("binary"),
        "partition": F.col("KafkaPartition").cast("string").cast("binary"),
        "offset": F.col("KafkaOffset").cast("string").cast("binary"),
        "key": F.col("Key"),
    }
    return [
        F.lit(feed.dead_letter_topic).alias("topic"),
        origin.cast("binary").alias("key"),
        F.col("Bytes").alias("value"),
        F.array(*(F.struct(F.lit(name).alias("key"), value.alias("value")) for name, value in headers.items())).alias("headers"),
    ]


def route(scored: DataFrame, feed: Feed, schema_ids: dict[str, int]) -> DataFrame:
    """Kafka records (topic, key, value, headers) of scored readings: each to the scored topic, anomalies to theirs as well, and
    records with an Error to the dead-letter topic. One row in, one or two out, so a reading is decoded once for all topics.

    schema_ids: registry id of the records `scored` and `anomaly`.
    """
    key = F.concat_ws("|", "ServiceName", F.unix_millis("Timestamp")).cast("binary")
    bad = F.struct(*dead_letter(feed))
    no_headers = F.lit(None).cast("array<struct<key:string,value:binary>>")

    def record(topic: str, value: Column) -> Column:
        return F.struct(
            F.lit(topic).alias("topic"), F.col("_key").alias("key"), value.alias("value"), no_headers.alias("headers")
        )

    good = F.col("Error").isNull()
    encoded = scored.withColumn("_key", key).withColumn("_scored", F.when(good, encode("scored", schema_ids["scored"])))
    to_scored = record(feed.scored_topic, F.col("_scored"))
    to_anomalies = record(feed.anomalies_topic, encode("anomaly", schema_ids["anomaly"]))
    outputs = F.when(~good, F.array(bad)).when(F.col("Anomalous"), F.array(to_scored, to_anomalies)).otherwise(F.array(to_scored))
    # The outputs stand in a projection of their own, as a generator's argument is interpreted row by row instead of compiled;
    # explode_outer, as explode makes the optimizer filter on the array's size first and so compute every output twice.
    return encoded.select(outputs.alias("_outputs")).select(F.explode_outer("_outputs").alias("_output")).select("_output.*")


def _header() -> Column:
    return F.substring("Bytes", 1, HEADER_BYTES)


def _header_of(schema_id: int) -> Column:
    return F.lit(bytearray(avro.HEADER.pack(avro.MAGIC, schema_id)))


def _error(feed: Feed, writer_schemas: dict[int, str], refused_ids: frozenset[int] | None) -> Column:
    known = [_header_of(schema_id) for schema_id in writer_schemas]
    value, time = F.col("_reading")[feed.value], F.col("_reading")[feed.time]
    return (
        F.when(time.isNotNull() & (value >= 0) & (F.length("Key") > 0), F.lit(None).cast("string"))
        .when(F.col("Bytes").isNull(), "no value (tombstone) where a reading belongs")
        .when(F.length("Bytes") <= HEADER_BYTES, "value too short for the Confluent wire format")
        .when(F.substring("Bytes", 1, 1) != F.lit(bytearray([avro.MAGIC])), "first byte is not the Confluent magic byte 0")
        .when(~_header().isin(known), _unknown_id(refused_ids))
        .when(time.isNull() | value.isNull(), "value is not Avro of the schema that its header names")
        .when(value < 0, F.concat(F.lit("negative reading "), value.cast("string")))
        .otherwise("no service name in the record's key")
    )


def _unknown_id(refused_ids: frozenset[int] | None) -> Column:
    schema_id = F.conv(F.hex(F.substring("Bytes", 2, 4)), 16, 10)
    reason = F.concat(F.lit("unknown schema id "), schema_id)
    if refused_ids is None:
        return reason
    raised = F.raise_error(F.concat(F.lit(UNKNOWN_SCHEMA), schema_id)).cast("string")
    return F.when(schema_id.cast("long").isin(sorted(refused_ids)), reason).otherwise(raised) if refused_ids else raised
