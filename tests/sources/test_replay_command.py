"""`sundial replay` as typed: exit codes, what is printed, and what arrives."""

import datetime as dt
import re
from pathlib import Path

import pytest

from contracts.feeds import load_feed

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
WORLD_CUP = [
    str(SAMPLES / "worldcup98_requests_per_minute.csv.gz"),
    *("--service", "www", "--time-column", "period", "--value-column", "count", "--timezone", "UTC"),
]


def capture(tmp_path, *rows: str) -> Path:
    path = tmp_path / "capture.csv"
    path.write_text("\n".join(["ServiceName,Timestamp,Value", *rows]) + "\n")
    return path


def test_a_capture_is_played_and_summed_up(run, platform, tmp_path):
    done = run("replay", capture(tmp_path, "a,1790000000,1", "b,1790000010,2"), "--feed", "service-use")
    assert done.exit_code == 0
    assert re.search(
        r"^2 events to service-use in [\d.]+ s \([\d,]+ events/s\), 0 failed deliveries, 2026-09-21 10:13:20 EDT to", done.stdout
    )
    assert sorted(key for key, _ in platform.messages(2)) == ["a", "b"]


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--skip-bad"], 0)])
def test_bad_rows_are_listed_the_others_played(run, platform, tmp_path, options, code):
    done = run("replay", capture(tmp_path, "a,1790000000,1", "a,noon,2", "a,1790000010,-1"), "--feed", "service-use", *options)
    assert done.exit_code == code
    assert "bad row: capture.csv:3: time 'noon' is not ISO 8601" in done.stderr
    assert "bad row: capture.csv:4: value '-1' is not a whole number" in done.stderr
    assert "2 bad rows were not played" in done.stderr
    assert len(platform.messages(1)) == 1


@pytest.mark.parametrize(("weeks", "lost"), [(-34, 2), (1, 1)])  # to a date without two o'clock, and to one with each hour once
def test_readings_without_a_time_on_the_new_date_are_counted_and_not_played(run, platform, tmp_path, weeks, lost):
    passes = [f"a,{at},1" for at in ("2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00")]
    done = run("replay", capture(tmp_path, *passes), "--feed", "service-use", "--shift-weeks", weeks)
    no_place = "(an hour that the clock skips, or the second pass of an hour that occurs only once)"
    said = f"{lost} readings have no local time on their new date {no_place}, and were not played"
    assert said in " ".join(done.stderr.split())
    assert (done.exit_code, len(platform.messages(3 - lost))) == (0, 3 - lost)


def test_window_and_limit(run, platform, tmp_path):
    rows = [f"a,{1790000000 + 10 * number},{number}" for number in range(10)]
    window = ["--from", "2026-09-21T14:13:40Z", "--until", "2026-09-21 10:14:30"]  # of the feed: New York
    done = run("replay", capture(tmp_path, *rows), "--feed", "service-use", *window, "--limit", 3)
    assert done.stdout.startswith("3 events to service-use")
    assert [value[-1] // 2 for _, value in platform.messages(3)] == [2, 3, 4]  # zigzag


@pytest.mark.full
def test_history_of_the_world_cup_as_a_fleet_reaches_up_to_now(run):
    done = run("replay", *WORLD_CUP, "--feed", "service-use", "--thin", 2, "--shift-to-now", "--from", "-1h")
    assert done.exit_code == 0
    events, last = re.search(r"^([\d,]+) events.* to (.+) E[DS]T$", done.stdout, re.M).groups()
    assert 2 * 360 - 24 <= int(events.replace(",", "")) <= 2 * 360
    local = dt.datetime.now(load_feed("service-use").zone).replace(tzinfo=None)
    assert dt.timedelta(0) < local - dt.datetime.fromisoformat(last) < dt.timedelta(minutes=2)


def test_played_live_what_is_past_goes_out_at_once(run):
    shifted = ["--shift-to-now", "--speed", "1", "--from", "-1h"]
    done = run("replay", *WORLD_CUP, "--feed", "service-use", *shifted, "--limit", 30)
    assert done.stdout.splitlines()[1].startswith("30 events to service-use")
    assert done.exit_code == 0


def test_a_capture_that_is_over_is_played_again(run):
    """Not moved to now, but repeated until it is: its times follow from those of 1998, whenever the command is typed."""
    live = ["--shift-to-now", "--shift-weeks", "0", "--repeat", "--speed", "1", "--from", "-10m"]
    done = run("replay", *WORLD_CUP, "--feed", "service-use", *live, "--limit", 3)
    assert done.exit_code == 0
    first = re.search(r"^3 events.*deliveries, (.+?) E[DS]T to", done.stdout, re.M)[1]
    local = dt.datetime.now(load_feed("service-use").zone).replace(tzinfo=None)
    assert dt.timedelta(minutes=8) < local - dt.datetime.fromisoformat(first) <= dt.timedelta(minutes=11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "gone.csv", "--feed", "service-use"], "error: gone.csv: no such file or folder"),
        (["replay", "gone.csv", "--feed", "nothing"], "error: no feed 'nothing': one of "),
        (["replay", *WORLD_CUP, "--feed", "road-traffic", "--thin", "3"], "every 3600 s, which does not divide a minute"),
        (["replay", *WORLD_CUP, "--feed", "world-cup"], "error: subject world-cup-value is not registered"),
        (["replay", *WORLD_CUP, "--feed", "world-cup", "--from", "tomorrow"], "error: 'tomorrow' is no time"),
        (["replay", *WORLD_CUP, "--feed", "world-cup", "--repeat"], "--repeat has no end at full speed: add --speed N"),
        (["simulate", "--feed", "service-use"], "choose one"),
        (["simulate", "--feed", "service-use", "--out", "x"], "--out needs --from"),
        (["simulate", "--feed", "service-use", "--live", "--services", "a,a"], "names must be distinct"),
        (["simulate", "--feed", "service-use", "--live", "--incident", "fire@checkout+1m..1m"], "error: no incident 'fire'"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(run, arguments, message):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("acks", "message"),
    [("all", "0 failed deliveries, 2026"), ("1", "each confirmed by one broker only"), ("0", "none of them confirmed by Kafka")],
)
def test_fewer_confirmations_may_be_asked_for_and_are_reported(run, platform, tmp_path, acks, message):
    done = run("replay", capture(tmp_path, "a,1790000000,1"), "--feed", "service-use", "--acks", acks)
    assert done.exit_code == 0
    assert message in done.stdout
    assert len(platform.messages(1)) == 1


def test_other_confirmations_do_not_exist(run, tmp_path):
    done = run("replay", capture(tmp_path, "a,1790000000,1"), "--feed", "service-use", "--acks", "2")
    assert done.exit_code == 2
    assert "'2' is not one of" in done.stderr
