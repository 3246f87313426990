"""Scoring: what is expected of a reading, and that a batch and a stream of the same readings give the same rows."""

import datetime as dt

from jobs.transforms.scoring import score

READINGS = "ServiceName string, Timestamp timestamp, Value long"
PACKED = """ServiceName string, DayType int, Last4Avg array<double>, Spread array<double>, Growth double,
    Level array<double>, Scale array<double>"""
HOLIDAY = dt.date(2026, 11, 26)
RULE = {"normal": "plain", "percent": 5.0, "spread": 3.0, "minimum": 20.0}


def by_hour(**averages) -> list[float | None]:
    return [averages.get(f"h{hour}") for hour in range(24)]


def baseline(spark):
    rows = [
        ("www", 6, by_hour(h0=100.0, h9=200.0), [2.0, 3.0, None], 1.0, by_hour(h9=225.0, h10=300.0), by_hour(h9=15.0, h10=18.0)),
        ("www", 7, by_hour(h9=50.0), [None, 2.0, None], 1.5, by_hour(h9=90.0), by_hour(h9=10.0)),
    ]
    return spark.createDataFrame(rows, PACKED)


def readings():
    saturday = dt.datetime(2026, 11, 21, 5, tzinfo=dt.UTC)  # midnight in New York
    return [
        ("www", saturday, 101),
        ("www", saturday + dt.timedelta(hours=9), 230),
        ("www", saturday + dt.timedelta(hours=10), 230),
        ("www", saturday - dt.timedelta(seconds=1), 230),
        ("www", dt.datetime(2026, 11, 26, 14, tzinfo=dt.UTC), 30),
        ("login", saturday, 7),
    ]


def scored(spark, rows, **rule):
    return score(rows, baseline(spark), "America/New_York", 3600, {HOLIDAY: 7}, RULE | rule)


def test_each_reading_meets_its_own_slot(spark):
    found = scored(spark, spark.createDataFrame(readings(), READINGS)).collect()
    judged = {(row.ServiceName, row.Timestamp, row.Value): tuple(row)[3:] for row in found}
    assert list(judged.values()) == [
        (6, 0, 100.0, 100.0, 2.0, None, None, 1.0, 101.0, False),
        (6, 9, 200.0, 200.0, 3.0, None, None, 30.0, 115.0, True),
        (6, 10, None, None, None, None, None, None, None, False),  # a slot without a baseline
        (5, 23, None, None, None, None, None, None, None, False),  # Friday still
        (7, 9, 50.0, 75.0, 2.0, None, None, -45.0, 40.0, True),  # Thanksgiving is a Sunday, and Sundays grow
        (6, 0, None, None, None, None, None, None, None, False),  # a service without a baseline
    ]


def test_a_rule_by_the_robust_normal_judges_by_level_and_scale_and_leaves_the_plain_figures(spark):
    found = scored(spark, spark.createDataFrame(readings(), READINGS), normal="robust").collect()
    assert [tuple(row)[3:] for row in found][:5] == [
        (6, 0, 100.0, 100.0, 2.0, None, None, 1.0, 101.0, False),  # no level is known
        (6, 9, 200.0, 200.0, 3.0, 225.0, 15.0, 30.0, 115.0, False),  # 230 is 5 from 225: by the plain figures an anomaly
        (6, 10, None, None, None, None, None, None, None, False),  # no baseline, whatever the robust normal knows
        (5, 23, None, None, None, None, None, None, None, False),
        (7, 9, 50.0, 75.0, 2.0, 90.0, 10.0, -45.0, 40.0, True),  # 30 is 6 scales from 90
    ]
    eased = scored(spark, spark.createDataFrame(readings(), READINGS), normal="robust", spread=7.0).collect()
    assert [row.Anomalous for row in eased] == [False] * 6


def test_batch_and_stream_give_equal_rows(spark, tmp_path):
    """The same file of readings read at once and as a stream; the static frame is the oracle of the streaming one."""
    source = str(tmp_path / "readings")
    spark.createDataFrame(readings() * 3, READINGS).repartition(3).write.parquet(source)
    batch = scored(spark, spark.read.schema(READINGS).parquet(source)).collect()
    stream = scored(spark, spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1).parquet(source))
    query = stream.writeStream.format("memory").queryName("parity").outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination(120)
    streamed = spark.table("parity").collect()
    spark.catalog.dropTempView("parity")
    assert len(batch) == 18
    assert sorted(map(str, streamed)) == sorted(map(str, batch))
