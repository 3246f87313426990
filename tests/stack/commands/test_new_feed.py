"""`sundial new feed`: what it writes passes `sundial check`, what it says next is right, and a mistake leaves nothing behind.

It writes into a copy of the repository, as its users have it.
"""

import datetime as dt
import re
import shlex
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import yaml
from typer.testing import CliRunner

from contracts.feeds import SECONDS_PER_DAY, Feed, load_feed
from sources.capture import BadRows, Capture
from stack import main_job
from stack.commands import new, new_feed
from stack.commands.cli import app
from stack.errors import StackError
from stack.instance import ROOT, Instance
from stack.parts import batch_run, last_day, lifecycle, streams
from stack.sample.files import read_sample
from stack.sample.inference import Given, found_in

BEGIN = dt.datetime(2026, 9, 7, tzinfo=dt.UTC)


def calls(folder: Path, days: int = 15, name: str = "my calls.csv") -> Path:
    """Two shops, every ten minutes; semicolons, a byte order mark, quotes."""
    rows = ['"when";"calls";"shop"']
    for step in range(days * 144):
        at = (BEGIN + dt.timedelta(minutes=10 * step)).strftime("%Y-%m-%d %H:%M")
        rows += [f'{at};{100 + step % 144};"north"', f'{at};{300 + step % 144};"south"']
    (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8-sig")
    return folder / name


def test_a_feed_is_written_that_passes_the_check_and_the_next_commands_are_said(repository, sundial, tmp_path):
    file = calls(tmp_path)
    ran = sundial("new", "feed", "calls", "--from", str(file), "--timezone", "Europe/Berlin", "--holidays", "DE-BY")
    assert (ran.code, ran.errors) == (0, "")
    declared = yaml.safe_load((repository / "schemas/feeds/calls.yaml").read_text())
    assert declared == {
        "name": "calls",
        "description": "Readings of calls, every 10m",
        "record": "service_use_record",
        "interval_seconds": 600,
        "timezone": "Europe/Berlin",
        "holidays": {"country": "DE", "subdivision": "BY"},
        "partitions": 1,
        "retention_days": 45,
        "spread_window_seconds": 1800,
        "rule": {"percent": 25, "spread": 6, "minimum": 27},
    }
    said = ran.output.splitlines()
    assert [re.split(r"  +", line.strip()) for line in said[1:7]] == [
        ["file", "CSV, semicolon", "4,320 rows: all rows of the file"],
        ["time", "when", "the only column of times: local times"],
        ["time zone", "Europe/Berlin", "--timezone"],
        ["value", "calls", "the only column of whole numbers"],
        ["service", "shop (2 services)", "by it, each service and time has one value"],
        ["interval", "10m", "the most frequent step of a service: 100% of all"],
    ]
    quoted = shlex.quote(str(file))
    commands = [line.strip() for line in said if line.startswith("  sundial")]
    mapped = "--service-column shop --time-column when --value-column calls --separator semicolon"
    assert commands == [
        "sundial up",
        f"sundial bootstrap calls --from {quoted} {mapped}",
        "sundial streams start calls",
        "sundial queries start incidents",
        f"sundial replay {quoted} --feed calls {mapped} --from 2026-09-20T22:00:00Z",
        f"sundial replay {quoted} --feed calls {mapped} --shift-to-now --from -60d",
    ]
    assert "Chart: http://127.0.0.1:18000/?feed=calls&from=2026-09-14T22%3A00%3A00Z&to=2026-09-21T22%3A00%3A00Z" in said
    checked = sundial("check")
    assert (checked.code, "7 feeds" in checked.output) == (0, True)
    again = sundial("new", "feed", "calls", "--from", str(file), "--timezone", "Europe/Berlin", "--holidays", "DE-BY")
    written, there = "written: schemas/feeds/calls.yaml", "there already, the same: schemas/feeds/calls.yaml"
    assert (again.code, again.output) == (0, ran.output.replace(written, there))
    other = sundial("new", "feed", "calls", "--from", str(file), "--timezone", "UTC")
    assert (other.code, other.errors.splitlines()) == (
        1,
        [
            "error: 'calls' is declared already: schemas/feeds/calls.yaml says something else than this command would write",
            "what to do: keep it: sundial feeds says what it needs next; or delete it, if it has no history yet, and run "
            "this again; or take another name",
        ],
    )
    assert yaml.safe_load((repository / "schemas/feeds/calls.yaml").read_text()) == declared
    (repository / "schemas/feeds/calls.yaml").unlink()


@pytest.mark.full
def test_the_page_shows_what_comes_out(repository, sundial):
    page = (ROOT / "docs/new-feed.md").read_text().partition("```text\n")[2].partition("```")[0]
    command, shown = page.partition(" part ")[::2]
    ran = sundial(*shlex.split(command.replace("\\\n>", " "))[2:])
    assert (ran.code, ran.errors) == (0, "")
    assert [line.rstrip() for line in ran.output.splitlines()] == [line.rstrip() for line in f" part {shown}".splitlines()]
    (repository / "schemas/feeds/cars.yaml").unlink()


def test_the_printed_commands_are_commands_and_their_options_read_the_file(tmp_path):
    """Each word is parsed by the command that it names; the replay's options give the file's own readings."""
    found = found_in(read_sample(calls(tmp_path)), Given(timezone="Europe/Berlin"), pytest.fail)
    for command, _ in new_feed.next_commands("road-traffic", found, "sundial"):
        words = shlex.split(command)[1:]
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0, command
        if words[0] == "bootstrap":
            failed = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words])
            assert failed.stderr.startswith("error: no stack in"), failed.stderr
    feed = Feed.model_validate(yaml.safe_load(next(iter(declared(tmp_path).values()))))
    mapped = {"service_column": "shop", "time_column": "when", "value_column": "calls", "separator": "semicolon"}
    bad = BadRows()
    rows = [row for each in Capture(found.sample.path, feed, **mapped).readings(bad) for row in each.to_pylist()]
    assert (len(rows), bad.count) == (found.sample.rows, 0)


def test_a_file_with_decimals_is_multiplied_by_each_command_that_reads_it(tmp_path):
    file = tmp_path / "watts.csv"
    file.write_text("at,watts\n" + "".join(f"{1_700_000_000 + 600 * row},{row}.25\n" for row in range(9)))
    found = found_in(read_sample(file), Given(), pytest.fail)
    commands = [command for command, _ in new_feed.next_commands("power", found, "sundial") if str(file) in command]
    assert [shlex.split(command)[1] for command in commands] == ["bootstrap", "replay"]
    assert all(" --value-column watts --value-scale 100 " in command for command in commands)
    feed = Feed.model_validate(yaml.safe_load(new_feed.declaration("power", found, None, BEGIN)["schemas/feeds/power.yaml"]))
    assert (feed.description, feed.rule.minimum) == ("Readings of power times 100, every 10m", 42)
    capture = Capture(file, feed, service="power", time_column="at", value_column="watts", value_scale=100)
    [batch] = capture.readings(BadRows())
    assert batch.column("Value").to_pylist() == [100 * row + 25 for row in range(9)]


def test_a_file_that_ended_long_ago_is_played_as_the_last_weeks_first(tmp_path):
    file = calls(tmp_path)
    found = found_in(read_sample(file), Given(timezone="Europe/Berlin"), pytest.fail)
    last = dt.datetime.fromtimestamp(found.last / 1000, dt.UTC)
    assert new_feed.before_readings_of_now("calls", found, "sundial", last + dt.timedelta(days=56)) is None
    what, command = new_feed.before_readings_of_now("calls", found, "sundial", last + dt.timedelta(days=56, seconds=1))
    assert f"{last.astimezone(ZoneInfo('Europe/Berlin')):%Y-%m-%d}" in what
    assert command.startswith(f"sundial replay {shlex.quote(str(file))} --feed calls ")
    assert command.endswith(" --shift-to-now --from -60d")
    assert CliRunner().invoke(app, [*shlex.split(command)[1:], "--help"]).exit_code == 0


def declared(folder: Path, name: str = "calls", now: dt.datetime | None = None, **given) -> dict[str, str]:
    found = found_in(read_sample(calls(folder)), Given(timezone="Europe/Berlin", **given), pytest.fail)
    return new_feed.declaration(name, found, None, now or BEGIN + dt.timedelta(days=20))


def test_old_readings_are_kept_and_taken(tmp_path):
    text = declared(tmp_path, now=BEGIN + dt.timedelta(days=420))["schemas/feeds/calls.yaml"]
    assert Feed.model_validate(yaml.safe_load(text)).oldest == "20000 days"
    text = declared(tmp_path, now=BEGIN + dt.timedelta(days=380))["schemas/feeds/calls.yaml"]
    assert Feed.model_validate(yaml.safe_load(text)).oldest == "400 days"


@pytest.mark.parametrize(("interval", "said"), [(10, "3 of 6"), (30, "3 of 6"), (60, None), (3600, None)])
def test_readings_of_seconds_alone_do_not_open_an_incident(interval, said):
    [text] = new_feed.declaration_of(new_feed.Said("x", interval, "UTC", None, 1)).values()
    assert yaml.safe_load(text).get("incidents") == (said and {"persistence": said})


def test_every_interval_has_a_window_of_several_readings_that_divides_a_day():
    for interval in (each for each in range(1, SECONDS_PER_DAY + 1) if SECONDS_PER_DAY % each == 0):
        window = new_feed.spread_window(interval)
        assert (window % interval, SECONDS_PER_DAY % window) == (0, 0)
        assert window >= 900
        assert window >= 3 * interval or window == SECONDS_PER_DAY


MISTAKES = {
    ("calls",): "does not tell whose clock shows the local times\nwhat to do: name it, for example --timezone America/Chicago",
    ("calls", "--timezone", "Mars"): "--timezone Mars: no such time zone",
    ("calls", "--timezone", "UTC", "--holidays", "XX"): "--holidays XX: ",
    ("calls", "--timezone", "UTC", "--interval", "7m"): "--interval 7m does not divide a day",
    ("Calls", "--timezone", "UTC"): "'Calls' can't be a feed's name",
    ("../calls", "--timezone", "UTC"): "can't be a feed's name",
    ("rides", "--timezone", "UTC"): "'rides' is declared already",
    ("calls", "--timezone", "UTC", "--start"): "no stack in ",
}


def test_a_mistake_leaves_nothing_behind(repository, sundial_in_turn, tmp_path):
    before = sorted((path, path.stat().st_mtime_ns) for path in (repository / "schemas").rglob("*"))
    capture = ("--from", str(calls(tmp_path, days=1)))
    ran = sundial_in_turn(*(("new", "feed", *words, *capture) for words in MISTAKES))
    assert [(each.code, says in each.errors) for each, says in zip(ran, MISTAKES.values(), strict=True)] == [
        (1, True) for _ in MISTAKES
    ], [each.errors for each in ran]
    after = sorted((path, path.stat().st_mtime_ns) for path in (repository / "schemas").rglob("*") if path.is_file())
    assert after == [each for each in before if each[0].is_file()]


def test_a_declaration_that_is_wrong_is_taken_back(tmp_path, monkeypatch):
    monkeypatch.setattr(new_feed.check, "mistakes", lambda: ["calls.yaml: rule: wrong"])
    with pytest.raises(ValueError, match=r"calls\.yaml: rule: wrong"):
        new_feed.write_checked(tmp_path, {"schemas/feeds/calls.yaml": "name: calls\n"})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_that_is_there_stays(tmp_path):
    (tmp_path / "a.yaml").write_text("mine")
    with pytest.raises(StackError, match=r"^a\.yaml: there already"):
        new_feed.write_checked(tmp_path, {"a.yaml": "other"})
    assert (tmp_path / "a.yaml").read_text() == "mine"


def test_names_are_shown_and_asked_for_as_they_are(repository, sundial, tmp_path):
    """Also those that look like markup or need quotes; the commands name the stack that was named."""
    rows = (f"{1_700_000_000 + 60 * row},{row},{row}" for row in range(9))
    (tmp_path / "a.csv").write_text("\n".join(["at,[red]it's,count", *rows, ""]))
    ran = sundial(
        "--home", str(tmp_path / "other"), "new", "feed", "odd", "--from", str(tmp_path / "a.csv"), "--value-column", "[red]it's"
    )
    assert ran.code == 0, ran.errors
    (repository / "schemas/feeds/odd.yaml").unlink()
    assert re.search(r"^ value +\[red\]it's +--value", ran.output, re.M)
    bootstrap = next(line for line in ran.output.splitlines() if " bootstrap " in line)
    assert shlex.split(bootstrap)[:5] == ["sundial", "--home", str(tmp_path / "other"), "bootstrap", "odd"]
    assert shlex.split(bootstrap)[-4:] == ["--value-column", "[red]it's", "--time-unit", "s"]
    assert "--value-column '[red]it'\"'\"'s' --from 2023-11-13T22:22:20Z" in ran.output, "a replay tells the unit by itself"


def test_a_terminal_is_asked_and_what_it_says_is_checked(monkeypatch, tmp_path):
    answers = iter(["Europe/Berlin", "calls", "Mars", "what"])
    monkeypatch.setattr(new.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(new.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(new.typer, "prompt", lambda text: next(answers))
    ask = new._asked_of(tmp_path / "a.csv")
    assert ask("--timezone", "whose clock", []) == "Europe/Berlin"
    assert ask("--value-column", "which column", ["calls", "errors"]) == "calls"
    with pytest.raises(StackError, match="--timezone Mars: no such time zone"):
        ask("--timezone", "whose clock", [])
    with pytest.raises(StackError, match="--value-column what is not among: calls, errors"):
        ask("--value-column", "which column", ["calls", "errors"])


def test_start_brings_up_loads_and_scores_in_this_order(monkeypatch, tmp_path, capsys):
    """The stream's driver starts while the file is loaded. What the detector learns from the file is there before the first
    reading is sent, with which the query of incidents begins the feed."""
    did = []
    monkeypatch.setattr(lifecycle, "up", lambda instance, say: did.append("up"))
    monkeypatch.setattr(batch_run, "run", lambda instance, dag, task, conf, say: did.append((dag, task, conf)) or ["4,320 rows"])
    for name in ("switch_on", "await_running", "start"):
        monkeypatch.setattr(streams, name, lambda instance, stream, say, name=name: did.append((name, stream.of)))
    monkeypatch.setattr(main_job, "await_stream", lambda instance, feed: did.append(("baseline", feed.name)))
    monkeypatch.setattr(last_day, "send", lambda instance, capture, since: did.append((capture, since)) or 288)
    monkeypatch.setattr(main_job, "await_scored", lambda instance, feed: did.append("scored"))
    file = calls(tmp_path)
    found = found_in(read_sample(file), Given(timezone="Europe/Berlin"), pytest.fail)
    instance = Instance(tmp_path / "home").make(base=0)
    new._start(instance, "road-traffic", found, "sundial --home there")
    columns = {"service_column": "shop", "time_column": "when", "value_column": "calls", "separator": "semicolon"}
    loaded = [
        ("bootstrap_feed.road-traffic", "bootstrap", {"path": str(file)} | columns),
        ("find_incidents.road-traffic", "find_incidents", {}),
    ]
    mapped = {"service_column": "shop", "time_column": "when", "value_column": "calls", "separator": "semicolon"}
    sent = (Capture(file, load_feed("road-traffic"), **mapped), found.last - 86_400_000 + 1000 * found.interval)
    streamed = [("await_running", "road-traffic"), ("start", "incidents"), ("baseline", "road-traffic"), sent, "scored"]
    assert did == ["up", ("switch_on", "road-traffic"), *loaded, *streamed]
    said = capsys.readouterr().out
    assert "288 readings of the file's last day were sent, and are scored" in said
    columns = "--service-column shop --time-column when --value-column calls --separator semicolon"
    assert f"\n  sundial --home there replay next.csv --feed road-traffic {columns}\n" in said
    assert f"Chart: {instance.api}/?feed=road-traffic&from=" in said
    printed = new_feed.next_commands("road-traffic", found, "sundial")
    assert [command.split()[1] for command, _ in printed] == ["up", "bootstrap", "streams", "queries", "replay"]
