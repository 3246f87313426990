"""`sundial backtest`: the contract of its output, its figures on labels, its suggestion, and what it refuses."""

import csv
import datetime as dt
import re

import pytest
import yaml
from typer.testing import CliRunner

from contracts.feeds import Feed
from contracts.incidents import load_rule
from stack.commands.cli import app
from tests.stack.backtest.captures import csv_file, half_hours
from tests.stack.backtest.histories import feed_of, history

SURGE = 48 * 17 + 20


@pytest.fixture
def backtest(tmp_path, monkeypatch):
    """Runs the command on a capture of three weeks with a surge: exit code, output, error output."""
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    readings = half_hours(21)
    lines = [f"{time},{count * (2 if SURGE <= row < SURGE + 6 else 1)}" for row, (time, count) in enumerate(readings)]
    csv_file(tmp_path / "calls.csv", "at,calls", *lines)

    def run(*more: str, **changed: str):
        options = {"timestamp": "at", "value": "calls", "interval": "30m", "timezone": "UTC"}
        options |= {"output": "out.csv", "warmup": "7d"} | changed
        typed = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        result = CliRunner().invoke(app, ["backtest", "calls.csv", *typed, *more])
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_row_for_each_row_in_order_and_the_surge_as_one_incident(backtest, tmp_path):
    code, output, _ = backtest("--report", "out.html")
    assert code == 0
    assert "1,008 rows of 1 services to out.csv" in output
    lines = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert [each["timestamp"] for each in lines] == [time for time, _ in half_hours(21)]
    onset = max(lines, key=lambda each: float(each["anomaly_score"]))
    assert lines.index(onset) == SURGE
    assert {each["incident_id"] for each in lines[SURGE : SURGE + 6]} == {"calls@2014-06-19T10:00:00Z"}
    assert "calls@" not in (tmp_path / "out.html").read_text()[:100]
    assert "<h1>Backtest</h1>" in (tmp_path / "out.html").read_text()


@pytest.mark.full
def test_a_column_has_the_services_and_columns_have_no_other_options(backtest, tmp_path):
    lines = (tmp_path / "calls.csv").read_text().splitlines()
    csv_file(tmp_path / "calls.csv", *(f"{line},{'shop' if row else 'of'}" for row, line in enumerate(lines)))
    code, output, _ = backtest(service="of")
    assert (code, "1,008 rows of 1 services to out.csv" in output) == (0, True)
    onset = list(csv.DictReader((tmp_path / "out.csv").open()))[SURGE]
    assert onset["incident_id"] == "shop@2014-06-19T10:00:00Z"
    for option in ("--time-column", "--value-column", "--service-column"):
        assert backtest(option, "at")[0] == 2, "an unknown option"


def test_the_detector_and_the_plain_rule_are_judged_by_labels(backtest, tmp_path):
    csv_file(tmp_path / "labels.csv", "service,start,end", "calls,2014-06-19 09:30:00,2014-06-19 13:00:00")
    code, output, _ = backtest("--labels", "labels.csv")
    assert code == 0
    assert re.search(r"^detector: precision [01]\.\d\d, recall 1\.00 \(1 of 1 labels\), median delay 30 min", output, re.M)
    assert re.search(r"^plain rule: precision 0\.\d\d, recall 1\.00", output, re.M)


def test_a_suggestion_is_yaml_to_paste_with_what_it_would_have_missed(backtest):
    code, output, _ = backtest("--suggest", "1/week", threshold="0.8")
    pasted = output[output.index("incidents:") :]
    rule = yaml.safe_load(pasted)
    assert (code, list(rule), list(rule["incidents"])) == (0, ["incidents"], ["score"])
    assert rule["incidents"]["score"] > 0.8
    found = re.search(r"# (\d+\.\d) incidents a week, 1 wanted; (\d+) of (\d+) incidents of this run missed", pasted)
    assert float(found[1]) <= 1
    assert 0 < int(found[2]) < int(found[3])
    assert pasted.count("# missed: calls@") == min(int(found[2]), 20)


@pytest.mark.full
def test_the_suggested_rule_is_a_feeds_and_run_again_gives_the_load(backtest, tmp_path):
    rule = "incidents: {percent: 5, persistence: 2 of 3, silence: 4, overrides: [{services: b.*, rule: {score: null}}]}"
    (tmp_path / "rule.yaml").write_text(rule)
    code, output, errors = backtest("--rule", "rule.yaml", "--suggest", "1/week")
    assert code == 0, errors
    pasted = output[output.index("incidents:") :]
    feed = Feed(name="calls", description="calls", record="service_use_record", **yaml.safe_load(pasted))
    assert feed.incidents.model_dump(exclude={"score"}) == load_rule(tmp_path / "rule.yaml").model_dump(exclude={"score"})
    promised = float(re.search(r"# (\d\.\d) incidents a week, 1 wanted", pasted)[1])
    assert promised <= 1
    (tmp_path / "suggested.yaml").write_text(pasted)
    assert f"{promised:.1f} a week; the plain rule" in backtest("--rule", "suggested.yaml")[1]


def test_mistakes_in_a_rule_are_listed_with_file_and_field(backtest, tmp_path):
    (tmp_path / "rule.yaml").write_text(
        "incidents:\n  scores: 2\n  persistence: 5 of 3\n  overrides: [{services: a, rule: {}}, {services: (, rule: {}}]\n"
    )
    code, _, errors = backtest("--rule", "rule.yaml")
    assert code == 1
    assert "rule.yaml: incidents.scores: no field is called so" in errors
    assert "rule.yaml: incidents.persistence: 5 of 3: n of m goes with n <= m" in errors
    assert "rule.yaml: incidents.overrides.1.services: not a regular expression" in errors
    for text, message in (
        (
            "incidents: {overrides: [{services: a.*, rule: {scor: 1}}]}",
            "incidents: overrides of a.*: scor: no field is called so",
        ),
        ("score: 2", "incidents: Field required"),
        ("{", "rule.yaml: not YAML: "),
    ):
        (tmp_path / "rule.yaml").write_text(text)
        assert message in backtest("--rule", "rule.yaml")[2].replace("\n", " ")
    assert "none.yaml: No such file or directory" in backtest("--rule", "none.yaml")[2]


@pytest.mark.parametrize(
    ("changed", "message", "remedy"),
    [
        ({"value": "count"}, "calls.csv:1: no column 'count'", "it has at, calls"),
        ({"timestamp": "calls"}, "calls.csv:2: column 'calls': '", "write epoch seconds"),
        ({"interval": "7h"}, "--interval 7h does not divide a day", "10s, 5m, 30m, 1h"),
        ({"interval": "0m"}, "--interval 0m does not divide a day", "10s, 5m, 30m, 1h"),
        ({"interval": "half"}, "--interval: 'half' is not a duration", "--interval 30m"),
        ({"warmup": "month"}, "--warmup: 'month' is not a duration", "--warmup 30m"),
        ({"timezone": "Mars/Olympus"}, "--timezone Mars/Olympus: no such time zone", "America/Chicago"),
        ({"holidays": "XX"}, "--holidays XX: no holiday calendar for country 'XX'", "US or US-MN"),
        ({"holidays": "US-XX"}, "--holidays US-XX: no subdivision 'XX' in US", "US or US-MN"),
        ({"suggest": "few"}, "--suggest few is not a number of incidents", "--suggest 2/week"),
        ({"output": "nowhere/out.csv"}, "nowhere/out.csv can't be written: No such file or directory", "a folder that exists"),
        ({"labels": "none.csv"}, "none.csv: [Errno 2] No such file or directory", "give a CSV file"),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_do(backtest, changed, message, remedy):
    code, _, errors = backtest(**changed)
    shown = errors.replace("\n", " ")
    assert code == 1
    assert message in shown
    assert "what to do: " in shown
    assert remedy in shown.partition("what to do: ")[2]


def test_a_feeds_history_is_walked_with_its_rule_or_another(backtest, tmp_path, monkeypatch):
    feed = feed_of(timezone="UTC")
    monkeypatch.setattr("stack.commands.backtest.load_feed", lambda name: feed)
    rows = [("www", round(dt.datetime.fromisoformat(f"{at}Z").timestamp() * 1000), count) for at, count in half_hours(14)]
    history(tmp_path / "lake", feed, rows)
    monkeypatch.setenv("SUNDIAL_LAKE", str(tmp_path / "lake"))

    def run(*more: str):
        return CliRunner().invoke(app, ["backtest", *more, "--output", "out.csv"])

    result = run("--feed", "half-hours", "--from", "2014-06-09", "--suggest", "1/week")
    assert result.exit_code == 0, result.output
    assert "336 rows of 1 services to out.csv; from 2014-06-09 to 2014-06-15, after a warm-up of 7 dates, " in result.output
    assert list(yaml.safe_load(result.stdout[result.stdout.index("incidents:") :])["incidents"]) == ["score"]
    (tmp_path / "rule.yaml").write_text("incidents: {score: 99}")
    assert " 0 incidents, 0.0 a week" in run("--feed", "half-hours", "--rule", "rule.yaml").stdout
    for more, message in (
        (["--feed", "half-hours", "--interval", "30m", "--labels", "x"], "--interval, --labels: goes with a CSV file"),
        (["calls.csv", "--feed", "half-hours"], "INPUT.csv: goes with a CSV file, not with --feed"),
        (["calls.csv", "--from", "2014-06-09"], "--from: goes with --feed, not with a CSV file"),
        (["calls.csv", "--timestamp", "at"], "a CSV file needs --value, --interval, --timezone"),
        (["--feed", "half-hours", "--to", "June"], "--to June is no date"),
        (["--feed", "half-hours", "--from", "2015-01-01"], "has dates from 2014-06-02 to 2014-06-15"),
        ([], "nothing to read"),
    ):
        refused = run(*more)
        assert (refused.exit_code, message in refused.stderr.replace("\n", " ")) == (1, True), refused.stderr


def test_an_unknown_feed_is_refused_with_the_known_ones():
    result = CliRunner().invoke(app, ["backtest", "--feed", "none", "--output", "out.csv"])
    assert (result.exit_code, "no feed 'none': one of " in result.stderr) == (1, True)
