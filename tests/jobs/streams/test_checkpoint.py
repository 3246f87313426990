"""What the files of a checkpoint say, laid out as Spark lays them out."""

import json

import pytest
from pyspark.errors import StreamingQueryException

from jobs.errors import JobError
from jobs.streams.checkpoint import Checkpoint


def test_a_topic_that_is_read_as_two_sources_counts_once(tmp_path):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    sources = ['{"t":{"0":7,"1":5}}', '{"t":{"0":7,"1":4},"u":{"0":100}}', "-"]
    (tmp_path / "offsets" / "3").write_text("\n".join(["v1", '{"conf":{}}', *sources]))
    (tmp_path / "commits" / "3").write_text("v1\n{}")
    assert Checkpoint(tmp_path).ends_of(3) == [{"t": {"0": 7, "1": 5}}, {"t": {"0": 7, "1": 4}, "u": {"0": 100}}]
    assert Checkpoint(tmp_path).committed() == 7 + 4 + 100


def test_a_new_checkpoint_says_nothing(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.has_batches, checkpoint.committed()) == (False, None)


def test_work_is_committed_up_to_the_last_batch_that_has_a_commit_and_before_that_up_to_where_the_sources_begin(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    for source, offsets in enumerate(('{"t":{"0":7}}', '{"u":{"0":2}}')):
        (tmp_path / "sources" / str(source)).mkdir(parents=True)
        (tmp_path / "sources" / str(source) / "0").write_bytes(b"\0v1\n" + offsets.encode())
    assert (checkpoint.has_batches, checkpoint.committed()) == (False, 9)
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    for batch in (9, 10):
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"t":{{"0":{batch}}}}}\n{{"u":{{"0":3}}}}')
    (tmp_path / "commits" / "9").write_text("v1\n{}")
    assert (checkpoint.has_batches, checkpoint.committed()) == (True, 12)
    (tmp_path / "commits" / "10").write_text("v1\n{}")
    assert checkpoint.committed() == 13


def test_each_checkpoint_has_the_id_that_spark_gave_it(tmp_path):
    (tmp_path / "metadata").write_text('{"id":"6a0c"}')
    assert Checkpoint(tmp_path).query_id == "6a0c"


def test_a_query_goes_on_at_other_offsets_of_one_topic_and_a_batch_that_was_not_committed_is_planned_again(tmp_path):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    for batch, offset in ((6, 10), (7, 20), (8, 30)):
        of_sources = [f'{{"t":{{"0":{offset},"1":5}}}}', "-", f'{{"u":{{"0":{offset}}},"t":{{"0":{offset + 1},"1":4}}}}']
        (tmp_path / "offsets" / str(batch)).write_text("\n".join(["v1", '{"batchWatermarkMs":5,"t":{"0":1}}', *of_sources]))
    for batch in (6, 7):
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.reached() == {"t": {0: 20, 1: 4}, "u": {0: 20}}
    checkpoint.go_on_at("t", {0: 25, 1: 5, 2: 0})
    assert checkpoint.reached() == {"t": {0: 25, 1: 5, 2: 0}, "u": {0: 20}}
    assert (tmp_path / "offsets" / "7").read_text().splitlines() == [
        "v1",
        '{"batchWatermarkMs":5,"t":{"0":1}}',
        '{"t":{"0":25,"1":5,"2":0}}',
        "-",
        '{"u":{"0":20},"t":{"0":25,"1":5,"2":0}}',
    ]
    assert sorted(file.name for file in (tmp_path / "offsets").iterdir()) == ["6", "7"]


def test_topics_come_and_go_and_a_batch_that_was_not_committed_is_made_again_of_the_others(tmp_path):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    for batch, offset in ((6, 10), (7, 20), (8, 30)):
        source = f'{{"gone":{{"0":{offset}}},"stays":{{"0":{offset}}},"anew":{{"0":{offset}}}}}'
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"conf":{{}}}}\n{source}')
    for batch in (6, 7):
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.read_topics({"new": {0: 4, 1: 0}, "anew": {0: 2}}, {"gone"}) == 8
    assert checkpoint.ends_of(7) == [{"stays": {"0": 20}, "anew": {"0": 2}, "new": {"0": 4, "1": 0}}]
    assert checkpoint.ends_of(8) == [{"stays": {"0": 30}, "anew": {"0": 2}, "new": {"0": 4, "1": 0}}]
    (tmp_path / "commits" / "8").write_text("v1\n{}")
    assert checkpoint.read_topics({}, {"anew"}) is None
    assert checkpoint.reached() == {"stays": {0: 30}, "new": {0: 4, 1: 0}}


def test_topics_come_and_go_before_anything_is_committed(tmp_path):
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"gone":{"0":7},"stays":{"0":7}}')
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.read_topics({"new": {0: 4}}, {"gone"}) is None
    assert checkpoint.reached() == {"stays": {0: 7}, "new": {0: 4}}


def test_a_batch_without_records_is_planned_unless_one_is_planned_or_none_was_ever(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.plan_without_records(7)
    assert not checkpoint.has_batches
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    offsets = ['{"t":{"0":10}}', "-"]
    head = {"batchWatermarkMs": 3, "batchTimestampMs": 5, "conf": {"a": "b"}}
    (tmp_path / "offsets" / "9").write_text("\n".join(["v1", json.dumps(head), *offsets]))
    checkpoint.plan_without_records(7)
    assert not (tmp_path / "offsets" / "10").exists(), "the first batch is not committed"
    (tmp_path / "commits" / "9").write_text('v1\n{"nextBatchWatermarkMs":4}')
    for at in (7, 8):
        checkpoint.plan_without_records(at)
    assert sorted(each.name for each in (tmp_path / "offsets").iterdir()) == ["10", "9"]
    version, planned, *ends = (tmp_path / "offsets" / "10").read_text().splitlines()
    assert (version, ends) == ("v1", offsets)
    assert json.loads(planned) == head | {"batchWatermarkMs": 4, "batchTimestampMs": 7}


def test_a_query_that_has_committed_nothing_begins_at_other_offsets(tmp_path):
    for number, topic in enumerate(("t", "u")):
        (tmp_path / "sources" / str(number)).mkdir(parents=True)
        (tmp_path / "sources" / str(number) / "0").write_bytes(b'\0v1\n{"%s":{"0":7}}' % topic.encode())
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n{"t":{"0":9}}\n{"u":{"0":9}}')
    checkpoint = Checkpoint(tmp_path)
    checkpoint.go_on_at("t", {0: 12})
    assert (checkpoint.reached(), checkpoint.has_batches) == ({"t": {0: 12}, "u": {0: 7}}, False)
    assert (tmp_path / "sources" / "0" / "0").read_bytes() == b'\0v1\n{"t":{"0":12}}'


def test_ids_of_topics_are_noted_beside_what_spark_notes(tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    assert checkpoint.topic_ids == {}
    checkpoint.note_topic_ids({"t": "a"})
    checkpoint.note_topic_ids({"t": "b", "u": "c"})
    assert checkpoint.topic_ids == {"t": "b", "u": "c"}


@pytest.mark.parametrize("left", ["", "v1", "v1\n{}", 'v1\n{}\n{"t":{"0":2', "v1\n{}\n7", "v1\n{}\n\0\0\0\0"])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path, left):
    for name, content in (("offsets", left), ("commits", "v1\n{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text(content)
    with pytest.raises(JobError, match=f"{tmp_path}/offsets/0 is damaged: .* or delete the checkpoint {tmp_path};"):
        Checkpoint(tmp_path).reached()


def test_a_damaged_begin_or_id_is_named(tmp_path):
    (tmp_path / "sources/0").mkdir(parents=True)
    (tmp_path / "sources/0/0").write_bytes(b"\0v1\n")
    (tmp_path / "metadata").write_bytes(b"\xff\xfe")
    for look in (lambda: Checkpoint(tmp_path).begin("t"), lambda: Checkpoint(tmp_path).reached()):
        with pytest.raises(JobError, match="sources/0/0 is damaged"):
            look()
    with pytest.raises(JobError, match="metadata is damaged"):
        _ = Checkpoint(tmp_path).query_id


def test_a_kill_while_the_first_batch_is_planned_does_not_stop_the_next_start(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text('{"name": "a"}')
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    counts = spark.readStream.schema("name string").json(str(tmp_path / "in")).groupBy("name").count()

    def run() -> None:
        counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(checkpoint.folder)).trigger(
            availableNow=True
        ).start().processAllAvailable()

    for kind, left in (("offsets", ".0.c80e67b0.tmp"), ("state", "0")):
        (checkpoint.folder / kind).mkdir(parents=True)
        (checkpoint.folder / kind / left).write_text("half")
    with pytest.raises(StreamingQueryException, match="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"):
        run()
    checkpoint.clear_unplanned()
    run()
    assert checkpoint.has_batches
    kept = sorted(each.relative_to(tmp_path) for each in checkpoint.folder.rglob("*"))
    checkpoint.clear_unplanned()
    assert sorted(each.relative_to(tmp_path) for each in checkpoint.folder.rglob("*")) == kept, "what is planned stays"
