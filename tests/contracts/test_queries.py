"""A query's declaration: every mistake is named with its file and field, and topics and contracts follow from it."""

from pathlib import Path

import pytest
import yaml

from contracts import avro
from contracts.declarations import DeclarationError, Topic
from contracts.declared_topics import query_topics
from contracts.feeds import load_feeds
from contracts.queries import Query, load_application, load_queries, load_query

RIDES = {"topic": "rides", "record": "taxi_ride"}
LOW = {"topic": "rides.low", "record": "taxi_ride", "key": "VendorID"}
ZONES = {"topic": "zones", "as": "table", "record": "taxi_zone", "key": {"column": "ZoneKey"}}


def declaration(**overrides) -> dict:
    made = {
        "name": "one",
        "description": "of the test",
        "inputs": {"rides": RIDES},
        "sql": "SELECT * FROM rides",
        "outputs": [LOW],
    }
    return made | overrides


def query(**overrides) -> Query:
    return Query(**declaration(**overrides))


def declare(folder: Path, name: str, **overrides) -> None:
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(declaration(name=name, **overrides)))


def test_the_declared_queries_load():
    queries = load_queries()
    assert {"rides-by-amount", "metric-summaries"} <= set(queries)
    of_rides = {name for name, query in queries.items() if query.application == "rides"}
    assert set(load_application("rides")) == of_rides != set(queries)


def test_an_unknown_application_is_answered_with_the_known_ones():
    with pytest.raises(DeclarationError, match=r"no query of application 'nope': one of .*rides"):
        load_application("nope")


def test_an_unknown_query_is_answered_with_the_known_ones():
    assert load_query("products").name == "products"
    with pytest.raises(DeclarationError, match=r"no query 'nope': one of .*products"):
        load_query("nope")


def test_every_mistake_of_every_file_is_listed_at_once(tmp_path):
    (tmp_path / "file.yaml").write_text(yaml.safe_dump(declaration(name="other", inputs={"rides": RIDES | {"record": "nope"}})))
    declare(tmp_path, "both", transform="metric_summaries")
    declare(tmp_path, "neither", sql=None)
    declare(tmp_path, "no-function", sql=None, transform="nowhere")
    declare(tmp_path, "no-select", sql="DROP TABLE rides")
    declare(tmp_path, "extra", inputs={"rides": RIDES | {"colour": "red"}})
    declare(tmp_path, "event", inputs={"rides": RIDES | {"time": "event"}})
    declare(tmp_path, "broker", inputs={"rides": RIDES | {"timestamp": "now()"}})
    declare(tmp_path, "lateness", inputs={"rides": RIDES | {"lateness": "soon"}})
    declare(tmp_path, "seldom", trigger="3 minutes")
    declare(tmp_path, "trigger", trigger="1 fortnight")
    declare(tmp_path, "mode", mode="complete")
    declare(tmp_path, "delivery", delivery="at-most-once")
    declare(tmp_path, "acks", delivery="exactly-once", acks=1)
    declare(tmp_path, "begin", inputs={"rides": RIDES | {"begin": 0}})
    declare(tmp_path, "key", inputs={"rides": RIDES | {"key": {"column": "vendorid", "record": "no_key"}}})
    declare(tmp_path, "twice", outputs=[LOW, LOW])
    declare(tmp_path, "loop", outputs=[LOW | {"topic": "rides"}])
    declare(tmp_path, "output", outputs=[LOW | {"record": "nope"}])
    declare(tmp_path, "version", outputs=[LOW | {"version": 9}])
    declare(tmp_path, "none", outputs=[])
    declare(tmp_path, "table-key", inputs={"rides": RIDES, "zones": ZONES | {"key": None}})
    declare(tmp_path, "table-begin", inputs={"rides": RIDES, "zones": ZONES | {"begin": "latest"}})
    declare(tmp_path, "table-late", inputs={"rides": RIDES, "zones": ZONES | {"lateness": "1 hour"}})
    declare(tmp_path, "table-alias", inputs={"zonekey": ZONES}, mode="update")
    declare(tmp_path, "table-mode", inputs={"zones": ZONES})
    declare(tmp_path, "table-other-key", inputs={"zones": ZONES, "low": ZONES | {"topic": "low", "key": {"column": "Low"}}})
    declare(tmp_path, "table-row", inputs={"rides": RIDES, "zones": ZONES | {"key": {"column": "RowDeleted"}}})
    (tmp_path / "text.yaml").write_text("name: [")
    with pytest.raises(DeclarationError) as error:
        load_queries(tmp_path)
    assert [line.split("\n")[0] for line in str(error.value).splitlines()] == [
        "acks.yaml: declaration: delivery: exactly-once goes with acks: all, and with no other",
        "begin.yaml: inputs.rides.begin: Input should be 'earliest' or 'latest'",
        "both.yaml: declaration: exactly one of sql and transform must be given",
        "broker.yaml: inputs.rides: timestamp goes with time: event, and with no other",
        "delivery.yaml: delivery: Input should be 'at-least-once' or 'exactly-once'",
        "event.yaml: inputs.rides: timestamp goes with time: event, and with no other",
        "extra.yaml: inputs.rides.colour: no field is called so",
        "file.yaml: name: is 'other', must be the file's name 'file'",
        "file.yaml: inputs.rides.record: no schemas/avro/nope/v1.avsc",
        "key.yaml: inputs.rides.key.record: no schemas/avro/no_key/v1.avsc",
        "key.yaml: inputs.rides: two columns are named 'vendorid' (fields, key, RowTime, RowOffset, _kafka)",
        "lateness.yaml: inputs.rides.lateness: String should match pattern"
        " '^[0-9]{1,6} (milliseconds?|seconds?|minutes?|hours?|days?)$'",
        "loop.yaml: declaration: topic rides is both read and written",
        "mode.yaml: mode: Input should be 'append' or 'update'",
        "neither.yaml: declaration: exactly one of sql and transform must be given",
        "no-function.yaml: transform: no jobs/transforms/queries/nowhere.py",
        r"no-select.yaml: sql: String should match pattern '(?i)^\s*(select|with)\s'",
        "none.yaml: outputs: Tuple should have at least 1 item after validation, not 0",
        "output.yaml: outputs.0.record: no schemas/avro/nope/v1.avsc",
        "seldom.yaml: trigger: 3 minutes between two batches; 120 seconds are the most",
        "table-alias.yaml: declaration: tables alone are columns of changes, as their key is: ZoneKey can't be the name of both",
        "table-begin.yaml: inputs.zones: as: table goes with begin: earliest: it holds what came before the query, too",
        "table-key.yaml: inputs.zones: as: table goes with key: a table holds the last row of each",
        "table-late.yaml: inputs.zones: as: table goes with no lateness: of each key the last record counts, whatever its time",
        "table-mode.yaml: declaration: tables alone go with mode: update, as a row is emitted whenever it changes",
        "table-other-key.yaml: declaration: tables alone are joined by their keys: all must have the same key, column and record",
        "table-row.yaml: inputs.zones: two columns are named 'rowdeleted' (fields, key, RowTime, RowOffset, RowDeleted, _kafka)",
        "text.yaml: not YAML: while parsing a flow node expected the node content, but found '<stream end>'"
        ' in "<unicode string>", line 1, column 8: name: [ ^',
        "trigger.yaml: trigger: String should match pattern '^[0-9]{1,6} (milliseconds?|seconds?|minutes?|hours?|days?)$'",
        "twice.yaml: declaration: two outputs to topic rides.low",
        "version.yaml: outputs.0.version: no schemas/avro/taxi_ride/v9.avsc",
    ]


def test_only_a_table_has_rows_that_delete():
    with pytest.raises(ValueError, match="delete goes with compacted: true"):
        query(outputs=[LOW | {"delete": "total_amount < 0", "compacted": False}])


@pytest.mark.parametrize("name", ["../etc", "Rides", "a b", "a..b", "x" * 64, "a;drop", ""])
def test_a_topic_that_is_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match="topic"):
        query(inputs={"rides": RIDES | {"topic": name}})


@pytest.mark.parametrize("alias", ["Rides", "a-b", "1st", "a;drop", "_kafka"])
def test_an_alias_that_is_no_sql_name_is_refused(alias):
    with pytest.raises(ValueError, match=r"inputs\."):
        query(inputs={alias: RIDES})


@pytest.mark.parametrize("name", ["../etc", "os.path", "a-b", "__init__"])
def test_a_transform_that_is_no_functions_name_is_refused(name):
    with pytest.raises(ValueError, match="transform"):
        query(sql=None, transform=name)


def test_topics_follow_from_the_declarations_and_each_has_dead_letters():
    key = {"column": "RideKey", "record": "taxi_ride_key"}
    first = query(inputs={"rides": RIDES | {"key": key, "partitions": 4}}, outputs=[LOW | {"retention_days": 3}])
    second = query(name="two", inputs={"low": RIDES | {"topic": "rides.low"}}, outputs=[LOW | {"topic": "b", "compacted": False}])
    found = {topic.name: topic for topic in query_topics([first, second])}
    assert found == {
        "rides": Topic("rides", 4, 7, False, "taxi_ride", "taxi_ride_key"),
        "rides.dead-letter": Topic("rides.dead-letter", 1, 7),
        "rides.low": Topic("rides.low", 2, 3, True, "taxi_ride"),
        "rides.low.dead-letter": Topic("rides.low.dead-letter", 1, 3),
        "b": Topic("b", 2, 7, False, "taxi_ride"),
        "b.dead-letter": Topic("b.dead-letter", 1, 7),
    }
    assert avro.subjects(found["rides"]) == {"rides-value": "taxi_ride", "rides-key": "taxi_ride_key"}
    assert avro.subjects(found["rides.dead-letter"]) == {}


def test_the_topic_of_an_output_that_names_a_version_keeps_to_it():
    found = {topic.name: topic.version for topic in query_topics([query(outputs=[LOW | {"version": 1}])])}
    assert found == {"rides": None, "rides.dead-letter": None, "rides.low": 1, "rides.low.dead-letter": None}


def test_the_topic_of_a_table_keeps_the_last_record_of_each_key_for_ever():
    declared = query(inputs={"rides": RIDES, "zones": ZONES}, outputs=[LOW | {"retention_days": "forever"}])
    found = {topic.name: topic for topic in query_topics([declared])}
    assert found["zones"] == Topic("zones", 2, None, True, "taxi_zone")
    assert found["rides.low"] == Topic("rides.low", 2, None, True, "taxi_ride")
    assert found["zones.dead-letter"] == Topic("zones.dead-letter", 1, None)
    assert list(declared.looked_up) == ["zones"]


def test_what_loses_keys_is_no_table():
    low = ZONES | {"topic": "rides.low", "record": "taxi_ride"}
    queries = [
        query(outputs=[LOW, LOW | {"topic": "ok", "retention_days": "forever"}]),
        query(name="days", inputs={"rides": RIDES, "low": low}, outputs=[LOW | {"topic": "b"}]),
        query(
            name="all",
            inputs={"zones": ZONES | {"compacted": False}, "ok": low | {"topic": "ok"}},
            mode="update",
            outputs=[LOW | {"topic": "c"}],
        ),
    ]
    with pytest.raises(DeclarationError) as error:
        query_topics(queries)
    remedy = "declare compacted: true and retention_days: forever where it is written"
    assert str(error.value).splitlines() == [
        f"days.yaml: inputs.low: rides.low loses keys, so it is no table; {remedy}",
        f"all.yaml: inputs.zones: zones loses keys, so it is no table; {remedy}",
    ]


def test_where_a_query_is_delivered_exactly_once_there_is_a_topic_of_commits_that_is_kept_for_ever():
    once = query(delivery="exactly-once")
    assert {topic.name: topic for topic in query_topics([once])}["sundial.commits"] == Topic("sundial.commits", 1, None, True)
    assert "sundial.commits" not in {topic.name for topic in query_topics([query()])}
    taken = query(name="taken", outputs=[LOW | {"topic": "sundial.commits"}])
    with pytest.raises(DeclarationError, match=r"taken\.yaml: topic sundial\.commits is written by another declaration too"):
        query_topics([once, taken])


def test_the_topic_of_a_feed_stays_the_feeds():
    feed = load_feeds()["service-use"]
    calls = {"topic": "service-use", "record": "service_use_record", "key": {"column": "ServiceName"}}
    found = query_topics([query(inputs={"calls": calls})], feed.topics)
    assert [topic.name for topic in found] == ["rides.low", "rides.low.dead-letter"]


def test_declarations_of_one_topic_must_agree():
    feed = load_feeds()["service-use"]
    calls = {"topic": "service-use", "record": "service_use_record"}
    queries = [
        query(),
        query(name="size", inputs={"rides": RIDES | {"partitions": 3}}, outputs=[LOW | {"topic": "b"}]),
        query(name="contract", inputs={"rides": RIDES | {"record": "vendor_window"}}, outputs=[LOW | {"topic": "c"}]),
        query(name="encoding", inputs={"rides": RIDES | {"encoding": "json"}}, outputs=[LOW | {"topic": "d"}]),
        query(name="writer"),
        query(name="feeds", inputs={"calls": calls | {"partitions": 3}}, outputs=[LOW | {"topic": "service-use.scored"}]),
    ]
    with pytest.raises(DeclarationError) as error:
        query_topics(queries, feed.topics)
    assert str(error.value).splitlines() == [
        "writer.yaml: topic rides.low is written by another declaration too",
        "feeds.yaml: topic service-use.scored is written by another declaration too",
        "size.yaml: inputs.rides: another declaration gives rides another size",
        "contract.yaml: inputs.rides: another declaration gives rides another contract",
        "encoding.yaml: inputs.rides: rides is avro in another declaration",
        "feeds.yaml: inputs.calls: service-use's writer declares its size and what it keeps",
    ]
