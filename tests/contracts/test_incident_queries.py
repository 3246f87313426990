"""The query that follows from the feeds: one for all, which reads each feed as its stream does and writes its incidents."""

import datetime as dt
import shutil

import pytest

from contracts.calendar_entries import Entry
from contracts.declarations import DeclarationError
from contracts.declared_topics import declared_topics
from contracts.feeds import FEEDS, Feed, load_feeds
from contracts.incident_queries import declared_query
from contracts.queries import QUERIES, Query, load_application, load_queries


def feed(**changed) -> Feed:
    return Feed(name="web-calls", description="calls", record="service_use_record", **changed)


def test_each_feed_is_an_input_and_has_a_topic_of_incidents():
    query = Query.model_validate(declared_query([feed(partitions=4, retention_days=9, longest_service=80, most_behind="3 days")]))
    [(alias, source)] = query.inputs.items()
    assert (alias, source.topic, source.record) == ("web_calls", "web-calls", "service_use_record")
    assert (source.time, source.timestamp, source.most_ahead, source.most_behind) == (
        "event",
        "`Timestamp`",
        "30 seconds",
        "3 days",
    )
    assert source.valid == "`Value` >= 0 AND octet_length(KeyOfRecord) BETWEEN 1 AND 80"
    [output] = query.outputs
    assert (output.topic, output.record, output.key) == ("web-calls.incidents", "incident", "Id")
    assert (output.partitions, output.retention_days, output.compacted) == (4, 9, True)
    assert query.exactly_once
    assert query.trigger == "5 seconds"


def test_it_begins_with_what_the_night_knew():
    declared = declared_query([feed()])
    assert Query.model_validate(declared).begins_with == "detector"
    with pytest.raises(ValueError, match="begins_with: detector goes with a transform that has the parameter feeds"):
        Query.model_validate(declared | {"parameters": {}})


def test_feeds_are_one_source_so_all_of_them_begin_alike_and_each_has_an_output():
    declared = declared_query([feed()])
    for changed in ({"dead_letters": True}, {"lateness": "1 hour"}, {"begin": "latest"}):
        inputs = {alias: each | changed for alias, each in declared["inputs"].items()}
        with pytest.raises(ValueError, match="begins_with goes with begin: earliest, and no table, lateness or dead letters: "):
            Query.model_validate(declared | {"inputs": inputs})
    other = feed().model_copy(update={"name": "other"})
    both = Query.model_validate(declared_query([feed(), other]))
    assert both.most_in_all == both.most_per_batch
    with pytest.raises(ValueError, match="one output for each input"):
        Query.model_validate(declared_query([feed(), other]) | {"outputs": declared["outputs"]})


def test_the_streams_dead_letters_are_not_sent_again():
    query = Query.model_validate(declared_query([feed()]))
    assert query.dead_letter_topics == {"web-calls.incidents.dead-letter"}


def test_the_query_knows_each_feeds_clock_holidays_and_rules():
    rules = {"score": 2.0, "overrides": [{"services": "batch", "rule": {"persistence": "2 of 3"}}], "silence": 5}
    rules |= {"retired": ["old-.*"], "forget_days": 30}
    declared = feed(timezone="America/Chicago", holidays={"country": "US", "subdivision": "MN"}, incidents=rules)
    entries = [
        Entry(name="sale", description="sale", feeds=["web-calls"], dates=[dt.date(2026, 11, 27)], like="sunday"),
        Entry(
            name="move",
            description="move",
            feeds=["web-calls"],
            dates=[dt.date(2026, 10, 1)],
            times={"begin": "13:00", "end": "13:40"},
            services="shop-.*",
        ),
    ]
    declared = declared.with_entries(entries)
    assert declared_query([declared])["parameters"]["feeds"] == {
        "web_calls": {
            "service": "KeyOfRecord",
            "value": "Value",
            "interval": 10_000,
            "timezone": "America/Chicago",
            "holidays": "US-MN",
            "special_days": {"2026-11-27": True},
            "windows": [["shop-.*", 1790877600000, 1790880000000]],
            "rules": [
                {"services": each, "score": 2.0, "percent": None, "spread": None, "minimum": None, "silence": 5, **persistence}
                for each, persistence in (("batch", {"needed": 2, "within": 3}), (".*", {"needed": 1, "within": 1}))
            ],
            "retired": ["old-.*"],
            "forget": 30 * 86_400_000,
            "group": {"services": 3, "within": 3},
        }
    }


def test_the_declared_feeds_have_one_query_in_an_application_of_its_own():
    assert load_application("incidents") == {"incidents": load_queries()["incidents"]}
    topics = {topic.name: topic for topic in declared_topics()}
    assert {f"{name}.incidents" for name in load_feeds()} <= topics.keys()
    assert topics["service-use.incidents"].record == "incident"


def test_no_other_query_may_be_called_so(tmp_path):
    shutil.copytree(FEEDS, tmp_path / "feeds")
    shutil.copytree(QUERIES, tmp_path / "queries")
    text = (QUERIES / "rides-last.yaml").read_text()
    (tmp_path / "queries" / "incidents.yaml").write_text(text.replace("name: rides-last", "name: incidents"))
    with pytest.raises(DeclarationError, match=r"incidents.yaml: name: is that of a query that follows from the feeds"):
        load_queries(tmp_path / "queries")
