"""What the files of a checkpoint say, laid out as Spark lays them out."""

from jobs.streams.checkpoint import Checkpoint


def test_a_query_begins_at_its_last_logged_batch_or_else_at_the_source_s_first_offsets(tmp_path):
    assert Checkpoint(tmp_path).begins("t") is None
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_bytes(b'\0v1\n{"t":{"0":7,"1":5}}')
    assert Checkpoint(tmp_path).begins("t") == 12
    (tmp_path / "offsets").mkdir()
    for batch in (2, 10):
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"conf":{{}}}}\n{{"t":{{"0":{batch},"1":100}}}}')
    (tmp_path / "offsets" / ".11.tmp").write_text("v1")
    assert Checkpoint(tmp_path).begins("t") == 110


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
    assert (checkpoint.has_begun, checkpoint.has_batches, checkpoint.committed()) == (False, False, None)


def test_work_is_committed_up_to_the_last_batch_that_has_a_commit_and_before_that_up_to_where_the_sources_begin(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    for source, offsets in enumerate(('{"t":{"0":7}}', '{"u":{"0":2}}')):
        (tmp_path / "sources" / str(source)).mkdir(parents=True)
        (tmp_path / "sources" / str(source) / "0").write_bytes(b"\0v1\n" + offsets.encode())
    assert (checkpoint.has_begun, checkpoint.has_batches, checkpoint.committed()) == (True, False, 9)
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
