"""Compacted topics as tables: the last row of each key counts. A row has RowOffset (long), ascending for its key, and
RowDeleted (boolean): whether it deletes its key."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def last_rows(rows: DataFrame, key: str) -> DataFrame:
    """What a table holds after these rows: the last of each key that it does not delete, without RowDeleted.

    It is broadcast, so it must be small: every task has it, and all of it is read for each batch that is joined with it.
    """
    last = rows.groupBy(key).agg(F.max_by(F.struct("*"), "RowOffset").alias("_last"))
    return F.broadcast(last.select("_last.*").where(~F.col("RowDeleted")).drop("RowDeleted"))


def changes(tables: dict[str, DataFrame], key: str) -> DataFrame:
    """Tables joined by their key: the column of the key, and for each table a struct of its last row under that table's name.

    In a stream, a key's joined row is emitted whenever an input changes. A struct is null where a table never had the key;
    a deleted row is one of nulls, but for its key, RowTime, RowOffset and RowDeleted.
    """
    sides = []
    for name, rows in tables.items():
        others = {each: F.lit(None).cast(other.select(F.struct("*")).schema[0].dataType) for each, other in tables.items()}
        structs = others | {name: F.struct("*")}
        sides.append(rows.select(F.col(key).alias("_key"), *(struct.alias(each) for each, struct in structs.items())))
    together = sides[0]
    for side in sides[1:]:
        together = together.union(side)
    last = (F.max_by(each, F.col(each)["RowOffset"]).alias(each) for each in tables)
    return together.groupBy(F.col("_key").alias(key)).agg(*last)
