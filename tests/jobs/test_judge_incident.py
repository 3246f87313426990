"""A statement is kept with who, when and why; one that makes no sense is refused with what to do, and nothing is written."""

import datetime as dt
import sys

import pyarrow as pa
import pytest

from contracts.exclusions import Excluded, in_force, notes
from contracts.feeds import load_feed
from jobs import judge_incident
from jobs.backends import exclusions, kafka, tables
from jobs.errors import JobError
from jobs.transforms import incident_rows
from tests.jobs.conftest import platform_in

FEED = load_feed("service-use")
NOON = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
CLOSED, OPEN, SILENT = "a@2026-06-01T12:00:00Z", "b@2026-06-01T12:00:00Z", "c@2026-06-01T12:00:00Z"
GROUP = "*@2026-06-01T12:00:00Z"


def event(id_: str, state: str, minute: int, kind: str = "deviation") -> dict:
    start, at = (round((NOON + minutes * MINUTE).timestamp() * 1000) for minutes in (0, minute))
    cells = {"Id": id_, "ServiceName": id_.split("@")[0], "Kind": kind, "State": state, "Start": start, "Last": start, "At": at}
    cells |= {"End": start + 120_000 if state == "closed" else None, "Score": 3.0, "Cause": "why", "LevelShift": False}
    return {"Date": NOON.date()} | dict.fromkeys(incident_rows.COLUMNS) | cells | {"Readings": 1}


@pytest.fixture
def platform(tmp_path):
    """A lake with a closed incident of a, an open one of b, a closed silence of c, and a closed group."""
    platform = platform_in(tmp_path)
    rows = [event(CLOSED, "opened", 0), event(CLOSED, "closed", 5), event(OPEN, "opened", 0)]
    rows += [event(SILENT, each, minute, "silence") for minute, each in enumerate(("opened", "closed"))]
    rows.append(event(GROUP, "closed", 5, "group"))
    batches = pa.Table.from_pylist(rows, incident_rows.SCHEMA).to_batches()
    tables.incidents(platform, FEED).write(iter(batches), [NOON.date()], {}, after=-1)
    return platform


@pytest.fixture
def judge(platform, monkeypatch):
    """judge(run, verdict, *options): the table afterwards: (Id, Kind, ServiceName, Start, End, TakesBack, IncidentId)."""

    def run(run_id: str, verdict: str, *options: str, by: str = "mara", reason: str = "a drill") -> list[tuple]:
        given = (f"--feed={FEED.name}", f"--run-id={run_id}", f"--verdict={verdict}", f"--by={by}", f"--reason={reason}")
        monkeypatch.setattr(sys, "argv", ["judge_incident.py", *given, *options])
        judge_incident.main(platform)
        return [(s.id, s.kind, s.service, s.start, s.end, s.takes_back, s.incident) for s in log(platform)]

    return run


def log(platform):
    table = exclusions.table_of(platform, FEED)
    return exclusions.read(table, table.version())


def test_each_verdict_is_a_row_with_what_it_is_about(platform, judge):
    end = NOON + 2 * MINUTE
    judge("r1", "false", f"--incident={OPEN}")
    judge("r2", "exclude", f"--incident={CLOSED}")
    judge("r3", "exclude", "--service=a/ü", "--from=2026-06-01T14:00:00+02:00", "--to=2026-06-01T12:02:00")
    judge("r4", "exclude", "--from=2026-06-01", "--to=2026-06-02")
    assert judge("r5", "take_back", "--statement=4") == [
        (1, "false", "b", NOON, None, None, OPEN),
        (2, "exclude", "a", NOON, end, None, CLOSED),
        (3, "exclude", "a/ü", NOON, end, None, None),
        (4, "exclude", None, NOON - 720 * MINUTE, NOON + 720 * MINUTE, None, None),
        (5, "take_back", None, None, None, 4, None),
    ]
    assert exclusions.in_force(platform, FEED) == [Excluded("a", NOON, end), Excluded("a/ü", NOON, end)]


def test_a_statement_says_who_when_and_why_and_a_run_makes_one(platform, judge, capsys):
    before = dt.datetime.now(dt.UTC)
    judge("r1", "false", f"--incident={SILENT}", by="omar", reason="“planned” maintenance")
    [said] = log(platform)
    assert (said.by, said.reason, said.run_id) == ("omar", "“planned” maintenance", "r1")
    assert before <= said.at <= dt.datetime.now(dt.UTC)
    assert len(judge("r1", "false", f"--incident={SILENT}", by="omar", reason="“planned” maintenance")) == 1
    assert "run r1 has written statement 1 already" in capsys.readouterr().out


def test_what_was_taken_back_can_be_said_again_and_what_is_in_force_can_not(judge):
    judge("r1", "false", f"--incident={CLOSED}", reason="a drill")
    with pytest.raises(JobError, match=r"statement 1 of mara says that already, since .* UTC: a drill"):
        judge("r2", "false", f"--incident={CLOSED}")
    judge("r3", "exclude", f"--incident={CLOSED}")
    judge("r4", "take_back", "--statement=1")
    rows = judge("r5", "false", f"--incident={CLOSED}")
    assert [(row[0], row[1]) for row in rows] == [(1, "false"), (2, "exclude"), (3, "take_back"), (4, "false")]


def test_an_incident_has_any_number_of_notes_but_none_twice(platform, judge, capsys):
    judge("r1", "note", f"--incident={CLOSED}", reason="deploy 4.2 caused it")
    judge("r2", "note", f"--incident={CLOSED}", reason="https://wiki.example.org/4.2 <b>says why</b>")
    judge("r3", "note", f"--incident={GROUP}", reason="deploy 4.2 caused it", by="omar")
    with pytest.raises(JobError, match=r"statement 1 of mara says that already, since .* UTC: deploy 4\.2 caused it"):
        judge("r4", "note", f"--incident={CLOSED}", reason="deploy 4.2 caused it", by="omar")
    judge("r5", "take_back", "--statement=1")
    judge("r6", "note", f"--incident={CLOSED}", reason="deploy 4.2 caused it")
    assert [(each.kind, each.incident, each.by) for each in in_force(log(platform))] == [
        ("note", CLOSED, "mara"),
        ("note", GROUP, "omar"),
        ("note", CLOSED, "mara"),
    ]
    assert [each.reason for each in notes(in_force(log(platform)), CLOSED)] == [
        "https://wiki.example.org/4.2 <b>says why</b>",
        "deploy 4.2 caused it",
    ]
    assert exclusions.in_force(platform, FEED) == []
    assert f"statement 1 is in force: a note about {CLOSED}\n" in capsys.readouterr().out


SPAN = ("--from=2026-06-01T12:00:00", "--to=2026-06-01T13:00:00")
RANGE_OR_INCIDENT = r"--verdict exclude takes either --incident, or --from and --to \(for one service with --service\); given: "


@pytest.mark.parametrize(
    ("verdict", "options", "message"),
    [
        ("false", (), "--verdict false takes --incident; given: none of these"),
        ("false", SPAN, "--verdict false takes --incident; given: --from, --to"),
        ("note", SPAN, "--verdict note takes --incident; given: --from, --to"),
        ("note", (f"--incident={CLOSED}", "--service=a"), "--verdict note takes --incident; given: --incident, --service"),
        ("exclude", (), RANGE_OR_INCIDENT + "none of these"),
        ("exclude", ("--service=a", SPAN[0]), RANGE_OR_INCIDENT + "--service, --from"),
        ("exclude", (f"--incident={CLOSED}", "--service=a"), RANGE_OR_INCIDENT + "--incident, --service"),
        ("exclude", (f"--incident={OPEN}",), "is still open, so it has no end; give --service, --from and --to instead"),
        ("exclude", (f"--incident={SILENT}",), "is a silence: there are no readings to exclude"),
        ("exclude", (f"--incident={GROUP}",), "is a group: exclude its members one by one, or give --from and --to"),
        ("exclude", ("--from=2026-06-02", "--to=2026-06-02"), r"--from 2026-06-02T00:00:00\+00:00 is not before --to 2026-06-02"),
        ("exclude", ("--from=2026-06-02", "--to=2999-06-02"), "--to 2999-06-02.* is in the future; only what has been can be"),
        ("exclude", ("--service=", *SPAN), "--service: a name of service-use has 1 to 256 bytes"),
        ("exclude", ("--service=" + "ü" * 129, *SPAN), "--service: a name of service-use has 1 to 256 bytes"),
        ("take_back", (), "--verdict take_back takes --statement; given: none of these"),
        ("take_back", ("--statement=7",), "--statement 7: of exclusions/service_use, one that is in force can be taken back: 1"),
        ("take_back", ("--statement=2",), "one that is in force can be taken back: 1, 3"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(platform, judge, verdict, options, message):
    judge("r1", "false", f"--incident={CLOSED}")
    if options == ("--statement=2",):  # was taken back
        for run, more in (
            ("r2", ("exclude", *SPAN)),
            ("r3", ("exclude", "--service=a", *SPAN)),
            ("r4", ("take_back", "--statement=2")),
        ):
            judge(run, *more)
    before = log(platform)
    with pytest.raises(JobError, match=message):
        judge("r9", verdict, *options)
    assert log(platform) == before


def test_an_incident_of_today_is_looked_for_in_the_topic(platform, judge, monkeypatch):
    ids = []
    known = {b"d@e@2026-06-02T09:30:00Z": b"its last record"}

    def last_value(_, topic: str, key: bytes, *__) -> bytes | None:
        ids.append((topic, key))
        return known.get(key)

    monkeypatch.setattr(kafka, "last_value", last_value)
    today = dt.datetime(2026, 6, 2, 9, 30, tzinfo=dt.UTC)
    judge("r1", "acknowledge", f"--incident={OPEN}")
    judge("r2", "acknowledge", "--incident=d@e@2026-06-02T09:30:00Z")
    judge("r3", "false", "--incident=d@e@2026-06-02T09:30:00Z")
    assert judge("r4", "note", "--incident=d@e@2026-06-02T09:30:00Z") == [
        (1, "acknowledge", "b", NOON, None, None, OPEN),
        (2, "acknowledge", "d@e", today, None, None, "d@e@2026-06-02T09:30:00Z"),
        (3, "false", "d@e", today, None, None, "d@e@2026-06-02T09:30:00Z"),
        (4, "note", "d@e", today, None, None, "d@e@2026-06-02T09:30:00Z"),
    ]
    with pytest.raises(JobError, match="is not in incidents/service_use yet; give --service, --from and --to instead"):
        judge("r5", "exclude", "--incident=d@e@2026-06-02T09:30:00Z")
    where = r"x@y: neither incidents/service_use nor the topic service-use\.incidents has it; `sundial incidents list serv"
    with pytest.raises(JobError, match=where):
        judge("r6", "acknowledge", "--incident=x@y")
    assert ids == [("service-use.incidents", b"d@e@2026-06-02T09:30:00Z")] * 4 + [("service-use.incidents", b"x@y")]
    assert len(log(platform)) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"reason": " "}, "argument --reason: must not be empty"),
        ({"reason": "x" * 501}, "argument --reason: must be one line of at most 500 printable characters"),
        ({"reason": "two\nlines"}, "argument --reason: must be one line"),
        ({"by": ""}, "argument --by: must not be empty"),
    ],
)
def test_who_and_why_are_one_line_each(platform, judge, capsys, more, message):
    with pytest.raises(SystemExit):
        judge("r1", "false", f"--incident={CLOSED}", **more)
    assert message in capsys.readouterr().err
    assert log(platform) == []


def test_a_feed_that_is_not_declared_and_a_lake_without_incidents_are_told(tmp_path, monkeypatch, capsys):
    given = ["judge_incident.py", "--run-id=r1", "--verdict=false", "--by=mara", "--reason=why", "--incident=x"]
    monkeypatch.setattr(sys, "argv", [*given, "--feed=nobody"])
    with pytest.raises(SystemExit):
        judge_incident.main(platform_in(tmp_path))
    assert "no feed 'nobody'" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*given, f"--feed={FEED.name}"])
    monkeypatch.setattr(kafka, "last_value", lambda *_: None)
    with pytest.raises(JobError, match="neither incidents/service_use nor the topic service-use"):
        judge_incident.main(platform_in(tmp_path))


def test_the_job_says_how_many_readings_of_history_it_excludes(platform, judge, capsys):
    names, minutes = ["a", "a", "a", "b"], [0, 1, 2, 1]
    times = [NOON + each * MINUTE for each in minutes]
    columns = {"ServiceName": names, "Timestamp": pa.array(times, pa.timestamp("us", "UTC")), "Value": [1] * 4}
    batch = pa.record_batch(columns | {"Date": pa.array([NOON.date()] * 4, pa.date32())})
    tables.history(platform, FEED).write(iter([batch]), [NOON.date()], {}, after=-1)
    judge("r1", "exclude", f"--incident={CLOSED}")
    judge("r2", "exclude", "--from=2026-06-01T12:01:00Z", "--to=2026-06-03T12:02:00Z")
    said = capsys.readouterr().out.splitlines()
    span = "a, 2026-06-01T12:00:00+00:00 to 2026-06-01T12:02:00+00:00"
    assert said[0].endswith(f"statement 1 is in force: not normal: {span}; history/service_use has 2 of these readings")
    assert said[1].endswith("history/service_use has 3 of these readings")
