"""What a compacted topic holds, from its rows."""

from jobs.transforms import compacted_topics

ROW = "ZoneKey string, LocationID int, Zone string, RowOffset long, RowDeleted boolean"


def test_a_table_holds_the_last_row_of_each_key_and_no_key_that_this_deletes(spark):
    log = [
        ("1", 1, "Newark Airport", 0, False),
        ("2", 2, "Jamaica Bay", 1, False),
        ("1", 1, "Newark", 4, False),
        ("2", None, None, 3, True),
        ("3", None, None, 2, True),
        ("3", 3, "Allerton", 5, False),
    ]
    found = compacted_topics.last_rows(spark.createDataFrame(log, ROW).repartition(3), "ZoneKey")
    assert sorted(found.collect()) == [("1", 1, "Newark", 4), ("3", 3, "Allerton", 5)]
