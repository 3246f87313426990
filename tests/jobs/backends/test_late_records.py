"""How far what came too late is counted in: in the topic that it was read from, and in no other of the same name."""

import uuid

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from deltalake import write_deltalake

from contracts.declared_topics import query_topics
from contracts.queries import load_queries
from jobs.backends import late_records
from jobs.backends.late_records import LATE_EVENT, output_of
from jobs.backends.tables import Table
from jobs.backends.topics import topic_now
from jobs.errors import JobError
from stack.deploy import topics
from tests.support.topics import delete
from tests.support.waiting import until


def test_a_topic_that_was_made_anew_is_counted_in_from_its_beginning_once_a_person_says_so(live_platform, broker, tmp_path):
    """The new topic has more records than the old one had, so offsets alone do not tell."""
    declared, suffix = load_queries()["metric-summaries"], uuid.uuid4().hex[:8]
    outputs = tuple(each.model_copy(update={"topic": f"{each.topic}-{suffix}"}) for each in declared.outputs)
    query = declared.model_copy(update={"outputs": outputs})
    name = output_of(query, LATE_EVENT).topic
    write_deltalake(str(tmp_path / "events"), pa.table({"Date": ["2026-11-20"]}))
    table = Table(str(tmp_path / "events"))

    def waiting() -> int:
        return sum(late.size for late in late_records.not_counted_in(live_platform, [query], table))

    def send(records: int) -> None:
        producer = Producer({"bootstrap.servers": broker.kafka, "enable.idempotence": True})
        for _ in range(records):
            producer.produce(name, b"late", partition=0)
        assert producer.flush(30) == 0

    topics.deploy(broker.kafka, query_topics([query]))
    send(3)
    (late,) = late_records.not_counted_in(live_platform, [query], table)
    assert late.size == 3
    for step in late.steps:
        table.commit_note(late_records.note(table, late, step), after=table.version())
    assert waiting() == 0
    before = topic_now(live_platform, name).id
    delete(broker.kafka, name)
    topics.deploy(broker.kafka, query_topics([query]))
    until("it is there", lambda: topic_now(live_platform, name).id != before)
    send(5)
    lost = f"topic {name} was deleted and made anew: what was not read of the old one is lost"
    with pytest.raises(JobError, match=f"^{lost}; `sundial queries skip-lost metrics` goes on"):
        waiting()
    assert late_records.skip_lost(live_platform, [query], table, "skip-1") == [lost]
    assert late_records.skip_lost(live_platform, [query], table, "skip-2") == []
    assert waiting() == 5
