"""What the tests that kill take for an open batch."""

import pytest

from tests.jobs.applications import is_open


@pytest.mark.parametrize(
    ("offsets", "commits", "expected"),
    [
        pytest.param({}, [], False, id="nothing is planned yet"),
        pytest.param({0: "5"}, [], True, id="the first batch"),
        pytest.param({0: "5"}, [0], False, id="it is done"),
        pytest.param({9: "5", 10: "8"}, [9], True, id="the one after it"),
        pytest.param({9: "5", 10: "5"}, [9], False, id="one without a record, for the watermark alone"),
    ],
)
def test_a_batch_of_records_is_open_from_its_plan_to_its_commit(tmp_path, offsets, commits, expected):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    for batch, end in offsets.items():
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":{batch}}}\n{{"t":{{"0":{end}}}}}')
    for batch in commits:
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    (tmp_path / "offsets" / ".11.tmp").write_text("v1")
    assert is_open(tmp_path) is expected
