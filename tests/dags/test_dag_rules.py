"""What every DAG must be, and what the files in dags/ may do."""

import ast
import datetime as dt
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from contracts.feeds import load_feeds
from contracts.queries import load_queries

DAGS = Path(__file__).resolve().parents[2] / "dags"
FILES = sorted(DAGS.glob("*.py"))
PER_FEED = {
    "archive_history",
    "bootstrap_feed",
    "find_incidents",
    "judge_incident",
    "maintain_tables",
    "nightly_baseline",
    "repair_history",
    "rollback_baseline",
    "supervise_streams",
}
KINDS = PER_FEED | {"supervise_queries", "repair_summaries", "replay_dead_letters"}
FEEDS = sorted(load_feeds())
SUPERVISED = {f"supervise_queries.{query.application}" for query in load_queries().values()}
SINGLE = {"replay_dead_letters", "repair_summaries.metric-summaries"}
IDS = {f"{kind}.{feed}" for kind in PER_FEED for feed in FEEDS} | SINGLE | SUPERVISED
MAY_IMPORT = {"contracts", "dags", "supervision"}
SMALL = MAY_IMPORT | {"airflow", "asgiref", "croniter", "dateutil", "fastavro", "holidays", "packaging", "tzdata"}


def every_task(bag: DagBag):
    return [task for dag in bag.dags.values() for task in dag.tasks]


def test_every_file_imports_and_the_dags_are_exactly_these(bag):
    assert bag.import_errors == {}
    assert set(bag.dags) == IDS


def test_only_dag_files_are_parsed_as_such(bag):
    assert {Path(dag.fileloc).stem for dag in bag.dags.values()} == KINDS
    assert {Path(stat.file.lstrip("/")).stem for stat in bag.dagbag_stats} == KINDS


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_dag_says_what_it_is(bag, dag_id):
    dag = bag.dags[dag_id]
    assert dag.tasks
    assert "sundial" in dag.tags
    assert len(dag.tags) > 1
    assert dag.doc_md.lstrip().startswith("# ")
    assert "## " in dag.doc_md


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_dag_starts_at_a_fixed_date_and_never_twice_at_once(bag, dag_id):
    dag = bag.dags[dag_id]
    assert dag.start_date == dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert dag.catchup is False
    assert dag.max_active_runs == 1


def test_every_task_has_an_owner_retries_with_a_pause_and_a_time_limit_where_it_computes(bag):
    for task in every_task(bag):
        assert task.owner == "sundial", task
        assert task.retry_delay >= dt.timedelta(seconds=10), task
        if task.task_id not in ("approve", "bootstrap", "judge_incident", "rollback_baseline"):
            assert task.retries >= 2, task
        if task.task_id == "approve":
            assert task.response_timeout < dt.timedelta(hours=20), "the next night must not wait for an answer"
        else:
            assert task.execution_timeout, task


def test_params_are_described_and_typed(bag):
    for dag in bag.dags.values():
        for name in dag.params:
            full = dag.params.get_param(name)
            assert full.description, name
            assert full.schema["title"], name
            assert full.schema["type"], name


@pytest.mark.parametrize(
    ("dag_id", "name", "right", "wrong"),
    [
        ("repair_history.service-use", "from", ["2024-05-01", None], ["yesterday"]),
        ("rollback_baseline.service-use", "version", [0, 7], [-1, "7", None]),
        ("rollback_baseline.service-use", "reason", ["wrong holiday"], ["", None, "x" * 501]),
        ("judge_incident.service-use", "verdict", ["acknowledge", "false", "exclude", "note", "take_back"], ["true", "", None]),
        ("judge_incident.service-use", "incident", ["a@2026-11-21T12:00:00Z", None], ["x" * 1101, 7]),
        ("judge_incident.service-use", "service", ["a/ü b", None], ["x" * 1025, 7]),
        ("judge_incident.service-use", "from", ["2026-11-21T12:00:00Z", "2026-11-21", None], ["noon", "2026-11-21Z"]),
        ("judge_incident.service-use", "to", ["2026-11-21T12:00:00.000+01:00", None], ["noon", 7]),
        ("judge_incident.service-use", "statement", [1, None], [0, "1"]),
        ("judge_incident.service-use", "reason", ["a drill"], ["", None, "x" * 501]),
        *(
            (dag_id, "user", ["olga@example.org", "oidc/o+l|g@a", "oidc/" + "x" * 100, None], ["", "a/b", "oidc/", "a b", 7])
            for dag_id in ("judge_incident.service-use", "rollback_baseline.service-use", "replay_dead_letters")
        ),
        ("replay_dead_letters", "topic", ["service-use", "rides"], ["rides.dead-letter", "", None]),
        ("replay_dead_letters", "send", [True, False], ["yes", None]),
        ("replay_dead_letters", "since", ["2024-05-01", None], ["yesterday"]),
        ("bootstrap_feed.service-use", "path", ["/captures/a"], ["", None]),
        ("bootstrap_feed.service-use", "time_unit", ["ms", None], ["minutes"]),
        ("bootstrap_feed.service-use", "separator", ["semicolon", None], [";", ""]),
    ],
)
def test_params_accept_exactly_what_they_should(bag, dag_id, name, right, wrong):
    param = bag.dags[dag_id].params.get_param(name)
    for value in right:
        assert param.resolve(value) == value
    for value in wrong:
        with pytest.raises(ValueError, match=r"Failed validating|is not a .date.|valid under|is not"):
            param.resolve(value)


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively"
            names.add(node.module)
    return names


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_neither_spark_nor_another_room_is_imported(file):
    rooms = {folder.name for folder in DAGS.parent.iterdir() if (folder / "__init__.py").exists()} - MAY_IMPORT
    assert rooms >= {"jobs", "serving", "stack"}
    forbidden = rooms | {"pyspark", "delta", "confluent_kafka", "duckdb", "pandas"}
    if file.name != "lake_notes.py":
        forbidden |= {"deltalake", "pyarrow"}
    assert {name.split(".")[0] for name in imported(file)} & forbidden == set()


EACH_ALONE = """
import os, sys
import dags, airflow.sdk, airflow.providers.apache.spark.operators.spark_submit, airflow.triggers.base
def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork", "sqlite3.connect"):
        raise RuntimeError(f"top-level I/O: {event} {arguments}")
before = set(sys.modules)
def alone(module):
    if child := os.fork():
        return os.waitpid(child, 0)
    sys.addaudithook(refuse)
    __import__(module)
    print(module, *{name.split(".")[0] for name in sys.modules.keys() - before} - sys.stdlib_module_names, flush=True)
    os._exit(0)
alone("contracts.queries")
import contracts.feeds, contracts.queries  # what all of them import, once
for kind in sys.argv[1:]:
    alone(f"dags.{kind}")
"""


@pytest.fixture(scope="module")
def parsed() -> subprocess.CompletedProcess:
    """Each DAG file imported in a process of its own, forked from one that has imported Airflow and nothing else."""
    command = [sys.executable, "-c", EACH_ALONE, *sorted(KINDS)]
    return subprocess.run(command, cwd=DAGS.parent, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_file_that_is_parsed_loads_little_and_talks_to_nobody(parsed, kind):
    """With Airflow itself imported: no socket is opened, no process started, no large library loaded."""
    loaded = {name: set(libraries) for name, *libraries in map(str.split, parsed.stdout.splitlines())}
    for module in ("contracts.queries", f"dags.{kind}"):
        assert module in loaded, parsed.stderr
        assert not {"pyspark", "deltalake"} & loaded[module]
        assert loaded[module] <= SMALL
