"""`sundial feeds`: what files tell of each feed, without a broker."""

import json

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake
from typer.testing import CliRunner

from contracts.feeds import load_feed, load_feeds
from stack.commands.cli import app
from stack.commands.feed_rows import FeedRow
from tests.stack.backtest.histories import history

ROADS = load_feed("road-traffic")
NOON = 1_780_333_200_000  # 2026-06-01 12:00 in Chicago
DAY = 86_400_000


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Runs the command with more options, on a lake of the test's own: its output."""
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SUNDIAL_LAKE", str(tmp_path / "lake"))

    def run(*more: str) -> str:
        result = CliRunner().invoke(app, ["feeds", "list", *more])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def promoted(path, as_of: str) -> None:
    note = {"candidate_version": 4, "as_of": as_of, "at": "2026-06-03T01:00:00+00:00"}
    properties = CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
    write_deltalake(str(path), pa.table({"ServiceName": ["I-94"]}), commit_properties=properties)


def test_history_and_baseline_are_those_of_the_lake_and_a_damaged_table_is_said_so(listed, tmp_path):
    lake = tmp_path / "lake"
    history(lake, ROADS, [("I-94", NOON, 5), ("I-94", NOON + DAY, 6), ("I-35", NOON + DAY, 7)])
    promoted(lake / "baseline/road_traffic", "2026-06-03")
    log = lake / "history/world_cup/_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("no JSON")
    found = {each["feed"]: each for each in json.loads(listed("--json"))}
    assert list(found) == list(load_feeds())
    assert found["road-traffic"] == {
        "feed": "road-traffic",
        "description": ROADS.description,
        "contract": "service_use_record",
        "interval_seconds": 3600,
        "timezone": "America/Chicago",
        "stream": "never started",
        "history": {"dates": 2, "first": "2026-06-01", "last": "2026-06-02"},
        "baseline": {"version": 0, "as_of": "2026-06-03"},
    }
    assert (found["service-use"]["history"], found["service-use"]["baseline"]) == (None, None)
    assert found["world-cup"]["history"]["problem"].startswith(f"{lake}/history/world_cup can't be read: ")
    shown = [line.split() for line in listed().splitlines()]
    assert shown[1][:6] == ["road-traffic", "never", "started", "1h", "America/Chicago", "service_use_record"]
    assert " ".join(shown[1][6:]) == "2 dates to 2026-06-02 0 as of 2026-06-03 sundial feeds start road-traffic"
    assert " ".join(shown[2][6:]) == "none none sundial feeds start service-use"
    assert " ".join(shown[6][6:]) == "can't be read none see below"
    assert " ".join(shown[7][:4]) == f"{lake}/history/world_cup can't be read:"


def test_alone_it_lists_and_streams_is_its_other_name(listed):
    whole = listed()
    for words in (["feeds"], ["streams"], ["streams", "list"]):
        assert CliRunner().invoke(app, words).stdout == whole


@pytest.mark.parametrize(
    ("stream", "history", "baseline", "step"),
    [
        ("never started", None, None, "sundial feeds start a"),
        ("running", None, None, "send readings, unpause nightly_baseline.a"),
        ("stopped", {"dates": 3}, None, "unpause nightly_baseline.a"),
        ("stopped", {"dates": 3}, {"version": 0}, "sundial feeds start a"),
        ("running", {"dates": 3}, {"version": 0}, ""),
        ("running", {"problem": "why"}, {"version": 0}, "see below"),
    ],
)
def test_the_next_step_is_the_first_that_is_lacking(stream, history, baseline, step):
    assert FeedRow("a", "", "r", 10, "UTC", stream, history, baseline).next_step == step
