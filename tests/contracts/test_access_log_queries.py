"""What follows from feeds that count an access log: one query for each log, its topics, and what is refused."""

import shutil

import pytest

from contracts.access_log_queries import declared_queries
from contracts.declarations import DeclarationError, Topic
from contracts.declared_topics import declared_topics, query_topics
from contracts.feeds import FEEDS, Feed, load_feeds
from contracts.queries import Query, load_application, load_queries

LOG = {"topic": "access.log", "counts": "requests", "service": "path", "services": "shop|search"}


def feed(name: str = "calls", log: dict | None = None, **overrides) -> Feed:
    declared = {"description": "calls", "record": "service_use_record", "access_log": LOG | (log or {})}
    return Feed(name=name, **(declared | overrides))


def test_feeds_of_one_log_have_one_query_that_writes_their_topics_and_late_ones():
    bytes_ = feed("bytes", {"counts": "bytes", "service": "host", "services": None, "others": "rest"}, interval_seconds=60)
    [query, other] = [
        Query.model_validate(each) for each in declared_queries([feed(), bytes_, feed("third", {"topic": "nginx"})])
    ]
    assert (query.name, query.application, other.name) == ("access-log", "access-log", "nginx")
    [lines] = query.inputs.values()
    assert (lines.topic, lines.encoding) == ("access.log", "access-log")
    assert "VirtualHost IS NOT NULL" in lines.valid
    assert "VirtualHost" not in other.inputs["lines"].valid
    assert query.parameters["feeds"]["bytes"] == {
        "counts": "bytes",
        "service": "host",
        "services": None,
        "others": "rest",
        "interval": 60_000,
        "lateness": 10_000,
        "forget_after": 7 * 86_400_000,
    }
    assert [(each.topic, each.when) for each in query.outputs] == [
        ("calls", "Feed = 'calls' AND NOT Late"),
        ("calls.late", "Feed = 'calls' AND Late"),
        ("bytes", "Feed = 'bytes' AND NOT Late"),
        ("bytes.late", "Feed = 'bytes' AND Late"),
    ]
    found = {topic.name: topic for topic in query_topics([query])}
    assert found["access.log"] == Topic("access.log", 1, 7, encoding="access-log")
    assert found["calls"] in feed().topics  # as the feed's streams and archive know it


def test_the_declared_ones_are_queries_and_topics_like_any():
    query = load_application("access-log")["access-log"]
    assert load_queries()["access-log"] == query
    of_logs = {each.name for each in load_feeds().values() if each.access_log}
    assert of_logs == {"web-requests", "web-errors", "web-bytes"} == set(query.parameters["feeds"])
    names = [topic.name for topic in declared_topics()]
    assert len(names) == len(set(names))
    derived = {f"{name}{what}" for name in of_logs for what in ("", ".late", ".scored", ".anomalies", ".dead-letter")}
    assert derived | {"access-log", "access-log.dead-letter"} <= set(names)


def test_a_query_of_ones_own_can_not_write_such_a_feeds_topic_or_have_its_querys_name(tmp_path):
    own = {"topic": "web-requests", "record": "service_use_record", "key": "ServiceName"}
    source = {"rides": {"topic": "rides", "record": "taxi_ride"}}
    mine = Query(name="mine", description="of the test", inputs=source, sql="SELECT 1", outputs=[own])
    with pytest.raises(DeclarationError, match="topic web-requests is written by another declaration too"):
        query_topics([load_queries()["access-log"], mine])
    shutil.copytree(FEEDS, tmp_path / "feeds")
    (tmp_path / "queries").mkdir()
    text = mine.model_copy(update={"name": "access-log"}).model_dump_json(by_alias=True, exclude_none=True)
    (tmp_path / "queries" / "access-log.yaml").write_text(text)
    with pytest.raises(DeclarationError, match=r"access-log.yaml: name: is that of a query that follows from the feeds"):
        load_queries(tmp_path / "queries")


@pytest.mark.parametrize(
    ("log", "overrides", "what"),
    [
        ({"services": None}, {}, "service: path needs services"),
        ({"services": "shop|("}, {}, "services.*not a regular expression"),
        ({"counts": "latency"}, {}, "counts"),
        ({"topic": "a b"}, {}, "topic"),
        ({"others": "no such;name"}, {}, "others"),
        (
            {},
            {"interval_seconds": 1800, "spread_window_seconds": 3600},
            "interval_seconds 1800 of an access log does not divide 900",
        ),
    ],
)
def test_mistakes_are_named(log, overrides, what):
    with pytest.raises(ValueError, match=f"(?s){what}"):
        feed(log=log, **overrides)


@pytest.mark.parametrize("overrides", [{"record": "metric_event"}, {"time": "At"}])
def test_a_reading_that_is_counted_has_a_timestamp_and_a_value_alone(overrides):
    assert list(feed(**overrides).unmet()) == [
        "record: what is counted of an access log has the fields Timestamp and Value, and no other"
    ]
    assert not list(feed().unmet())
