"""The command line says what is wrong and exits with 1; without a stack nothing is harmed."""

import subprocess

import pytest
import typer
from typer.testing import CliRunner

import stack.commands.check as check
from contracts.feeds import load_feeds
from stack.commands.cli import app
from stack.commands.console import failures_reported
from stack.errors import StackError
from stack.instance import Instance


@pytest.fixture
def sundial(tmp_path, monkeypatch):
    """Runs the command on a folder of the test's own: exit code, output, error output."""
    monkeypatch.setenv("SUNDIAL_HOME", str(tmp_path / "home"))

    def run(*arguments: str):
        result = CliRunner().invoke(app, list(arguments))
        return result.exit_code, result.stdout, result.stderr

    return run


def test_without_a_stack_status_fails_and_says_how_to_start_one(sundial):
    code, _, errors = sundial("status")
    assert code == 1
    assert "no stack in" in errors
    assert "what to do: start one: sundial up" in errors


def test_an_error_is_shown_as_it_is(capsys):
    with pytest.raises(typer.Exit), failures_reported():
        raise StackError("application: String should match pattern '^[a-z][a-z0-9-]{0,62}$'")
    assert "pattern '^[a-z][a-z0-9-]{0,62}$'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("streams", "start", "service-use"),
        ("queries", "start", "rides"),
        ("bootstrap", "service-use", "--from", __file__),
        ("dead-letters", "replay", "rides"),
        ("queries", "repair", "metric-summaries"),
        ("incidents", "false", "service-use", "a@b", "--reason", "why"),
        ("incidents", "exclude", "service-use", "a@b", "--reason", "why"),
        ("incidents", "take-back", "service-use", "1", "--reason", "why"),
    ],
)
def test_what_airflow_would_do_fails_and_says_what_is_missing(sundial, tmp_path, words):
    code, _, errors = sundial(*words)
    assert (code, errors.splitlines()[0]) == (1, f"error: no stack in {tmp_path / 'home'}")
    Instance(tmp_path / "home").make(base=0)
    code, _, errors = sundial(*words)
    assert code == 1
    assert errors.startswith("error: no Airflow answers at http://127.0.0.1:")
    assert "sundial up starts what does not" in errors


def test_every_feed_has_a_stream_to_start_and_none_else_has(sundial, tmp_path):
    code, output, _ = sundial("streams", "list")
    rows = [line.split() for line in output.splitlines()[1:]]
    assert (code, {row[0]: " ".join(row[1:3]) for row in rows}) == (0, dict.fromkeys(load_feeds(), "never started"))
    for word in ("start", "stop"):
        code, _, errors = sundial("streams", word, "nobody")
        assert (code, errors.split()[:4]) == (1, ["error:", "no", "feed", "'nobody':"])


def test_a_bootstrap_of_nothing_or_of_nobody_names_what_is_missing(sundial):
    code, _, errors = sundial("bootstrap", "nobody", "--from", __file__)
    assert (code, errors.split()[:4]) == (1, ["error:", "no", "feed", "'nobody':"])
    code, _, errors = sundial("bootstrap", "service-use", "--from", "nowhere.csv")
    assert (code, errors.splitlines()[0]) == (1, "error: no such file or folder: nowhere.csv")


def test_kafkas_tools_are_listed(sundial):
    code, output, _ = sundial("kafka", "--help")
    assert code == 0
    assert "console-producer" in output


def test_down_and_clean_without_a_stack_are_harmless(sundial, tmp_path):
    for command in ("down", "clean"):
        code, output, _ = sundial(command)
        assert code == 0
        assert "No stack in" in output
    assert not (tmp_path / "home").exists()


def test_clean_deletes_the_data(sundial, tmp_path):
    Instance(tmp_path / "home").make(base=0)
    assert sundial("clean")[0] == 0
    assert not (tmp_path / "home").exists()


def test_clean_keeps_what_is_not_the_stacks_own_and_what_it_points_at(sundial, tmp_path):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    Instance(home).make(base=0)
    (home / "thesis.txt").write_text("mine")
    elsewhere.mkdir()
    (elsewhere / "table").write_text("on another disk")
    (home / "lake").rmdir()
    (home / "lake").symlink_to(elsewhere)
    code, output, _ = sundial("clean")
    assert (code, [each.name for each in home.iterdir()]) == (0, ["thesis.txt"])
    assert "Kept what is not its own: thesis.txt." in output
    assert (elsewhere / "table").exists()
    assert "No stack in" in sundial("clean")[1]
    assert (home / "thesis.txt").read_text() == "mine"


def test_a_folder_with_other_files_is_not_taken_for_a_stack(sundial, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    for name in "abcd":
        (home / name).write_text("mine")
    code, _, errors = sundial("up", "--only-kafka")
    assert code == 1
    assert "is no stack's folder: it holds a, b, c, …" in " ".join(errors.split())
    assert "--home" in errors
    assert (home.stat().st_mode & 0o777, sorted(each.name for each in home.iterdir())) == (0o755, list("abcd"))


def test_an_impossible_port_base_is_refused(sundial):
    code, _, errors = sundial("up", "--port-base", "70000")
    assert code == 1
    assert "--port-base 70000 is out of range" in errors


def test_a_log_that_is_not_there_is_told_with_those_that_are(sundial, tmp_path):
    instance = Instance(tmp_path / "home").make(base=0)
    (instance.logs / "kafka.log").write_text("started\n")
    code, _, errors = sundial("logs", "kakfa")
    assert code == 1
    assert "no log of 'kakfa'" in errors
    assert "one of: kafka" in errors


def test_the_pid_of_what_does_not_run_is_an_error(sundial, tmp_path):
    Instance(tmp_path / "home").make(base=0)
    code, output, errors = sundial("pid", "kafka-2")
    assert (code, output) == (1, "")
    assert "no process 'kafka-2' runs in" in errors


def test_an_unknown_tool_of_kafka_is_answered_with_those_there_are(sundial, tmp_path):
    Instance(tmp_path / "home").make(base=0)
    code, _, errors = sundial("kafka", "console-drain", "--topic", "any")
    assert code == 1
    assert "no tool 'console-drain'" in errors
    assert "console-consumer, console-producer" in errors


def test_env_can_be_read_by_a_shell(sundial, tmp_path):
    instance = Instance(tmp_path / "home").make(base=0)
    code, output, _ = sundial("env", "--airflow")
    assert code == 0
    script = output + 'printf "%s %s" "$SUNDIAL_KAFKA" "$AIRFLOW__CORE__EXECUTOR"'
    printed = subprocess.run(["sh", "-eu", "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout == f"{instance.kafka} LocalExecutor"


def test_replay_plays_into_this_stack_unless_told_otherwise(sundial, tmp_path, monkeypatch):
    instance = Instance(tmp_path / "home").make(base=0)
    simulate = ("simulate", "--feed", "service-use", "--live", "--services", "1")
    for variable in ("SUNDIAL_KAFKA", "SUNDIAL_REGISTRY"):
        monkeypatch.delenv(variable, raising=False)
    assert instance.registry in "".join(map(str, sundial(*simulate)))
    monkeypatch.setenv("SUNDIAL_REGISTRY", "http://127.0.0.1:1/elsewhere")
    assert "http://127.0.0.1:1/elsewhere" in "".join(map(str, sundial(*simulate)))
    assert instance.registry in "".join(map(str, sundial("--home", str(instance.path), *simulate)))


def test_check_names_every_mistake_in_the_declarations(sundial, tmp_path, monkeypatch):
    code, output, _ = sundial("check")
    assert (code, output.rpartition(": ")[2].strip()) == (0, "no mistake.")
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    declared = "description: x\nrecord: service_use_record\n"
    (feeds / "calls.yaml").write_text(f"name: calls\n{declared}value: Count\npartitions: none\n")
    (feeds / "sales.yaml").write_text(f"name: sale\n{declared}")
    monkeypatch.setattr(check, "load_feeds", lambda: load_feeds(feeds))
    code, _, errors = sundial("check")
    assert code == 1
    assert errors.removeprefix("error: ").splitlines() == [
        "calls.yaml: partitions: Input should be a valid integer, unable to parse string as an integer",
        "calls.yaml: value: service_use_record has no field 'Count': one of Timestamp, Value",
        "sales.yaml: name: is 'sale', must be the file's name 'sales'",
    ]
