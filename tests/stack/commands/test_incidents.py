"""What `sundial incidents` lists, what it asks Airflow for, and what it refuses before."""

import datetime as dt

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from stack.commands.cli import app
from stack.instance import Instance
from stack.parts import batch_run

NOON = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def instance(tmp_path, monkeypatch) -> Instance:
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "home"))
    return Instance(tmp_path / "home").make(base=0)


@pytest.fixture
def incidents(instance):
    """Runs `sundial incidents …`: exit code, output without the widths of columns, error output."""

    def run(*arguments: str):
        result = CliRunner().invoke(app, ["incidents", *arguments])
        lines = "\n".join(" ".join(line.split()) for line in result.stdout.splitlines())
        return result.exit_code, lines, " ".join(result.stderr.split())

    return run


@pytest.fixture
def asked(monkeypatch) -> list[tuple]:
    """What Airflow was asked for, in place of the asking: (DAG, conf)."""
    found = []

    def run(_, dag: str, task: str, conf: dict, say) -> list[str]:
        assert task == "judge_incident"
        found.append((dag, conf))
        return ["exclusions/service_use: statement 1 is in force"]

    monkeypatch.setattr(batch_run, "run", run)
    return found


def event(service: str, minute: int, state: str, at: int) -> dict:
    start = NOON + minute * MINUTE
    times = {"Start": start, "End": NOON + at * MINUTE if state == "closed" else None, "At": NOON + at * MINUTE}
    cells = {"Id": f"{service}@{start:%Y-%m-%dT%H:%M:%SZ}", "ServiceName": service, "Kind": "deviation", "State": state}
    return (
        cells | {name: at and round(at.timestamp() * 1000) for name, at in times.items()} | {"Cause": f"why {at}", "Group": None}
    )


def statement(number: int, kind: str, **more) -> dict:
    about = {"ServiceName": None, "Start": NOON, "End": NOON + 3 * MINUTE, "TakesBack": None, "IncidentId": None} | more
    return {"Id": number, "Kind": kind} | about | {"By": "mara", "Reason": "a [red]drill", "At": NOON, "RunId": f"r{number}"}


STATEMENTS = pa.schema(
    [("Id", pa.int64()), ("Kind", pa.string()), ("ServiceName", pa.string())]
    + [(name, pa.timestamp("us", "UTC")) for name in ("Start", "End", "At")]
    + [("TakesBack", pa.int64())]
    + [(name, pa.string()) for name in ("IncidentId", "By", "Reason", "RunId")]
)


@pytest.fixture
def tables(instance):
    """Incidents of a (closed), b (open) and c (closed). b's was none; a span of a and one of all services are excluded."""
    events = [event("a", 0, "opened", 0), event("a", 0, "closed", 2), event("b", 5, "opened", 5), event("c", 9, "closed", 9)]
    types = {"Start": pa.int64(), "End": pa.int64(), "At": pa.int64()}
    schema = pa.schema({name: types.get(name, pa.string()) for name in events[0]})
    write_deltalake(str(instance.lake / "incidents" / "service_use"), pa.Table.from_pylist(events, schema))
    said = [
        statement(1, "false", IncidentId="b@2026-06-01T12:05:00Z", ServiceName="b"),
        statement(2, "exclude", ServiceName="a"),
        statement(3, "exclude", Start=NOON - 3 * MINUTE, End=NOON),
        statement(4, "exclude", IncidentId="c@2026-06-01T12:09:00Z", ServiceName="c"),
        statement(5, "take_back", TakesBack=4),
        statement(6, "acknowledge", IncidentId="b@2026-06-01T12:05:00Z", ServiceName="b"),
        statement(7, "acknowledge", IncidentId="c@2026-06-01T12:09:00Z", ServiceName="c"),
        statement(8, "note", IncidentId="c@2026-06-01T12:09:00Z", ServiceName="c"),
    ]
    write_deltalake(str(instance.lake / "exclusions" / "service_use"), pa.Table.from_pylist(said, STATEMENTS))


A = "a@2026-06-01T12:00:00Z deviation 2026-06-01T12:02:00Z why 2 excluded (2)"
B = "b@2026-06-01T12:05:00Z deviation open why 5 false alarm (1)"
SINCE = "Those since that walk: the page, and sundial read service-use.incidents --latest"
C = "c@2026-06-01T12:09:00Z deviation 2026-06-01T12:09:00Z why 9 acknowledged (7)"


def test_each_incident_is_listed_as_it_is_by_now_with_the_statement_that_judges_it(incidents, tables):
    code, output, _ = incidents("list", "service-use")
    assert (code, output.splitlines()) == (
        0,
        [
            *("incident kind until cause statement", C, B, A, SINCE, "In force", "statement says by at reason"),
            "1 false alarm: b@2026-06-01T12:05:00Z mara 2026-06-01T12:00:00Z a [red]drill",
            "2 excluded: a, 2026-06-01T12:00:00Z to 2026-06-01T12:03:00Z mara 2026-06-01T12:00:00Z a [red]drill",
            "3 excluded: all services, 2026-06-01T11:57:00Z to 2026-06-01T12:00:00Z mara 2026-06-01T12:00:00Z a [red]drill",
            "6 acknowledged: b@2026-06-01T12:05:00Z mara 2026-06-01T12:00:00Z a [red]drill",
            "7 acknowledged: c@2026-06-01T12:09:00Z mara 2026-06-01T12:00:00Z a [red]drill",
            "8 note: c@2026-06-01T12:09:00Z mara 2026-06-01T12:00:00Z a [red]drill",
        ],
    )


@pytest.mark.parametrize(
    ("options", "rows"),
    [(["--open"], [B]), (["--service", "c"], [C]), (["--limit", "1"], [C, "2 more; show them with --limit 3."])],
)
def test_the_list_can_be_narrowed(incidents, tables, options, rows):
    code, output, _ = incidents("list", "service-use", *options)
    assert (code, output.split("\nIn force")[0].splitlines()[1:]) == (0, [*rows, SINCE])


def test_without_tables_there_are_no_incidents(incidents):
    assert incidents("list", "service-use") == (0, f"The nightly walk found none.\n{SINCE}", "")


def test_each_verdict_is_a_run_of_the_dag(incidents, asked):
    assert incidents("false", "service-use", "a@b", "--reason", "a drill")[:2] == (
        0,
        "exclusions/service_use: statement 1 is in force",
    )
    assert incidents("acknowledge", "service-use", "a@b", "--reason", "mine")[0] == 0
    code, output, _ = incidents("exclude", "service-use", "a@b", "--reason", "r")
    assert (code, output.splitlines()[1]) == (
        0,
        "find_incidents.service-use walks again from there, if it is unpaused in Airflow.",
    )
    times = ("--from", "2026-06-01T12:00:00+02:00", "--to", "2026-06-01T12:00")
    assert incidents("exclude", "world-cup", "--service", "w", *times, "--reason", "r")[0] == 0
    assert incidents("note", "service-use", "a@b", "deploy 4.2 caused it")[0] == 0
    assert incidents("take-back", "service-use", "3", "--reason", "r")[0] == 0
    span = {"from": "2026-06-01T12:00:00+02:00", "to": "2026-06-01T12:00:00+00:00"}
    assert asked == [
        ("judge_incident.service-use", {"verdict": "false", "incident": "a@b", "reason": "a drill"}),
        ("judge_incident.service-use", {"verdict": "acknowledge", "incident": "a@b", "reason": "mine"}),
        ("judge_incident.service-use", {"verdict": "exclude", "incident": "a@b", "reason": "r"}),
        ("judge_incident.world-cup", {"verdict": "exclude", "service": "w", **span, "reason": "r"}),
        ("judge_incident.service-use", {"verdict": "note", "incident": "a@b", "reason": "deploy 4.2 caused it"}),
        ("judge_incident.service-use", {"verdict": "take_back", "statement": 3, "reason": "r"}),
    ]


WHICH = "name an incident, or both --from and --to (and --service, if not all services are meant)"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "nobody"), "error: no feed 'nobody': one of "),
        (("false", "nobody", "a@b", "--reason", "r"), "error: no feed 'nobody': one of "),
        (
            ("false", "service-use", "a@b", "--reason", " "),
            "error: --reason cannot be kept what to do: give one line of at most 500",
        ),
        (("false", "service-use", "a@b", "--reason", "x" * 501), "error: --reason cannot be kept"),
        (("note", "service-use", "a@b", "x" * 501), "error: TEXT cannot be kept what to do: give one line of at most 500"),
        (("note", "service-use", "a@b", "two\nlines"), "error: TEXT cannot be kept"),
        (("exclude", "service-use", "--reason", "r"), f"error: it is not clear what to exclude what to do: {WHICH}"),
        (("exclude", "service-use", "--from", "2026-06-01", "--reason", "r"), f"what to do: {WHICH}"),
        (
            ("exclude", "service-use", "a@b", "--service", "a", "--reason", "r"),
            "error: ID does not go with --service, --from and --to",
        ),
        (
            ("exclude", "service-use", "--from", "noon", "--to", "2026-06-01", "--reason", "r"),
            "error: --from 'noon' is no time what to do: give one like 2026-11-21T12:00:00Z",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_airflow_is_asked(incidents, asked, words, message):
    code, _, errors = incidents(*words)
    assert code == 1
    assert message in errors
    assert asked == []


@pytest.mark.parametrize("command", [(), ("list",), ("false",), ("exclude",), ("note",), ("take-back",)])
def test_each_command_says_what_it_does(incidents, command):
    code, output, _ = incidents(*command, "--help")
    assert code == 0
    assert "Usage: " in output
