"""Records of Avro contracts: decoding agrees with each class, queries agree with the judges, and the judges find mistakes."""

import datetime as dt
import json
import re
import time

import numpy as np
import pytest

from bench.chaos import results, rows
from bench.chaos.rows import CLASSES, REASONS, encoded
from bench.chaos.verify import Findings
from contracts import avro
from contracts.queries import load_application
from jobs.formats import query_records
from jobs.formats.wire import Writers
from tests.jobs.examples import KAFKA

IDS = {"rides-value": 7, "rides-key": 9, "metrics-value": 5, "meter-readings-value": 6}
OF = {"rides": "rides-by-amount", "fares": "rides-fares", "metrics": "metric-summaries", "migrations": "meter-readings-v1"}


class Record:
    def __init__(self, key: bytes | None, value: bytes | None):
        self._key, self._value = key and bytes(key), value and bytes(value)

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value


@pytest.fixture
def run(spark):
    """run(application, drafts): what the application's query writes, and the reasons of letters by the draft's place."""

    def written(application: str, drafts: list) -> tuple[dict[str, list[Record]], dict[int, str]]:
        query = load_application(application)[OF[application]]
        ((alias, source),) = query.inputs.items()
        came = dt.datetime.now(dt.UTC)
        sent = [
            (each.key and bytearray(each.key), each.value and bytearray(each.value), 0, n, came) for n, each in enumerate(drafts)
        ]
        of = {
            subject: (IDS[subject], json.dumps(avro.latest(record))) for subject, record in query_records.subjects(source).items()
        }
        writers = {subject: Writers(subject, (schema,), refused=None) for subject, schema in of.items()}
        decoded = query_records.decode(spark.createDataFrame(sent, KAFKA), source, writers)
        reasons = {row["KafkaOffset"]: row["Error"] for row in decoded.collect() if row["Error"]}
        if query.transform:
            return {}, reasons
        topics: dict[str, list[Record]] = {each.topic: [] for each in query.outputs}
        for row in query_records.records(query, {alias: decoded}, dict.fromkeys(topics, 1)).collect():
            topics.setdefault(row["topic"], []).append(Record(row["key"], row["value"]))
        return topics, reasons

    return written


def drafts_of(application: str, count: int = 1500) -> list:
    return next(rows.topics(11, application, IDS.__getitem__))[1](count)


def good(drafts: list) -> list[Record]:
    return [Record(each.key, each.value) for each in drafts if each.kind == "row"]


@pytest.mark.parametrize("application", rows.TOPICS)
def test_each_class_gets_its_reason_and_a_good_row_none(run, application):
    drafts = drafts_of(application)
    _, reasons = run(application, drafts)
    assert {each.kind for each in drafts} <= set(CLASSES)
    for number, draft in enumerate(drafts):
        expected = REASONS[draft.kind]
        assert (number in reasons) == (expected is not None), f"{draft} {reasons.get(number)}"
        assert expected is None or re.search(expected, reasons[number]), f"{draft} {reasons[number]}"


@pytest.mark.parametrize("application", ["rides", "fares", "migrations"])
def test_the_judges_agree_with_the_queries_and_miss_no_row(run, application):
    drafts = drafts_of(application, 1000)
    topics, _ = run(application, drafts)
    _, _, judge = results.JUDGES[application]
    right = Findings()
    assert judge(good(drafts), topics.__getitem__, right) > 500
    assert not right.counts
    for topic in [name for name in topics if not name.endswith("dead-letter")]:
        lacks, findings = topics | {topic: topics[topic][1:]}, Findings()
        judge(good(drafts), lacks.__getitem__, findings)
        assert findings.counts["result_wrong"] == 1
    if application == "fares":
        findings = Findings()
        judge(good(drafts), {"rides.fares": topics["rides.fares"] * 2}.__getitem__, findings)
        assert findings.counts["result_wrong"] > 500


def test_the_seed_decides_every_row(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    assert drafts_of("metrics") == drafts_of("metrics")


class Summarized:
    """What the metrics' queries would have written of good drafts; the last few came late."""

    def __init__(self, drafts: list[Record], late: int):
        self.topics: dict[str, list[Record]] = {"metrics.summaries": [], "metrics.late": []}
        events = list(zip([each.key() for each in drafts], results.rows("metric_event", drafts), strict=True))
        places: dict[tuple[bytes, int], list[float]] = {}
        for key, row in events[:-late]:
            places.setdefault((key, row["Timestamp"] // results.WINDOW * results.WINDOW), []).append(row["Value"])
        for (key, start), values in places.items():
            for seen in (1, len(values)):
                self.summary(key.decode(), start, values[:seen], seen)
        for key, row in events[-late:] * 2:
            self.add("metrics.late", "late_metric_event", row | {"Key": key.decode()})

    def summary(self, key: str, start: int, values: list[float], revision: int) -> None:
        zeros = dict.fromkeys(("Variance", "StandardDeviation", "P50", "P90", "P99"), 0.0)
        least = {"Min": min(values), "Max": max(values), "Average": float(np.mean(values)), "Count": len(values)}
        place = {"Key": key, "WindowStart": start, "Bins": [], "Counts": [], "Revision": revision}
        self.add("metrics.summaries", "metric_summary", zeros | least | place)

    def add(self, topic: str, record: str, row: dict) -> None:
        self.topics[topic].append(Record(b"", encoded(record, 1, row)))


def test_summaries_have_each_measurement_once_or_tell_it_as_late():
    drafts = good(drafts_of("metrics", 1000))
    made = Summarized(drafts, late=5)
    findings = Findings()
    assert results.summaries(drafts, made.topics.__getitem__, findings) >= 30
    assert not findings.counts
    lacks = made.topics | {"metrics.late": []}
    findings = Findings()
    results.summaries(drafts, lacks.__getitem__, findings)
    assert findings.counts["summary_wrong"] >= 1
    doubled = Summarized(drafts + drafts[:1], late=5)
    findings = Findings()
    results.summaries(drafts, doubled.topics.__getitem__, findings)
    assert findings.counts["summary_wrong"] >= 1
