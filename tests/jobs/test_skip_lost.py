"""What a query keeps when it goes on with a topic that was made anew."""

import json
import uuid

from contracts.declared_topics import query_topics
from contracts.queries import Query
from jobs import skip_lost
from jobs.streams.checkpoint import Checkpoint
from stack.deploy import topics
from supervision.files import StreamFolder
from tests.support.topics import produce


def test_a_query_of_tables_alone_begins_again_and_another_keeps_its_state(run_job, live_platform, broker, monkeypatch):
    """Of a table's key the row with the highest offset counts: the state knows higher ones than the new topic has."""
    name = f"zones-{uuid.uuid4().hex[:8]}"
    source = {"topic": name, "record": "taxi_zone", "key": {"column": "ZoneKey"}, "partitions": 1}
    kinds = {"joined": {"as": "table"}, "plain": {"compacted": True, "retention_days": "forever"}}
    declared = {
        query: Query(
            name=f"{name}-{query}",
            description="of the test",
            application=name,
            inputs={"zones": source | kind},
            sql="SELECT 1",
            mode="update",
            outputs=[{"topic": f"{name}.{query}", "record": "taxi_zone", "key": "ZoneKey"}],
        )
        for query, kind in kinds.items()
    }
    topics.deploy(broker.kafka, query_topics(declared.values()))
    produce(broker.kafka, name, [(b"1", None)])
    folder = StreamFolder.of(live_platform.streams, name, "queries")
    checkpoints = {query: Checkpoint(folder.checkpoint / declared[query].name) for query in kinds}
    for each in checkpoints.values():
        for kind in ("offsets", "commits", "state"):
            (each.folder / kind).mkdir(parents=True)
        (each.folder / "offsets" / "0").write_text(f'v1\n{{"batchTimestampMs":1}}\n{json.dumps({name: {"0": 0}})}')
        (each.folder / "commits" / "0").write_text("v1\n{}")
        each.note_topic_ids({name: "of the topic before"})
    monkeypatch.setattr(skip_lost, "load_application", lambda application, folder: declared)
    run_job(skip_lost, live_platform, "--application", name, "--run-id", "skip-1")
    assert not checkpoints["joined"].folder.exists()
    assert checkpoints["plain"].state_folder.exists()
    assert checkpoints["plain"].reached() == {name: {0: 0}}
    assert checkpoints["plain"].topic_ids[name] != "of the topic before"
