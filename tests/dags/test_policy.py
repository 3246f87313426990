"""What every DAG must be, and what the files in dags/ may do."""

import ast
import datetime as dt
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from contracts.feeds import load_feeds

DAGS = Path(__file__).resolve().parents[2] / "dags"
FILES = sorted(DAGS.glob("*.py"))
IDS = {"nightly_baseline", "supervise_streams"}
OURS = {"contracts", "dags"}


@pytest.fixture(scope="session")
def bag() -> DagBag:
    return DagBag(dag_folder=DAGS)


def every_task(bag: DagBag):
    return [task for dag in bag.dags.values() for task in dag.tasks]


def test_every_file_imports_and_the_dags_are_exactly_these(bag):
    assert bag.import_errors == {}
    assert set(bag.dags) == IDS


def test_only_dag_files_are_parsed_as_such(bag):
    assert {Path(dag.fileloc).stem for dag in bag.dags.values()} == IDS
    assert {Path(stat.file.lstrip("/")).stem for stat in bag.dagbag_stats} == IDS


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
        if task.task_id != "baseline.check_baseline":
            assert task.retries >= 2, task
        if task.task_id != "feeds":
            assert task.execution_timeout, task


def test_params_are_described_and_typed_and_accept_exactly_what_they_should(bag):
    for dag in bag.dags.values():
        for name in dag.params:
            full = dag.params.get_param(name)
            assert full.description, name
            assert full.schema["type"], name
            assert full.value is None, f"{name}: a scheduled run takes the installation's choice, not a default of the form"
    feeds = bag.dags["nightly_baseline"].params.get_param("feeds")
    assert feeds.schema["items"]["enum"] == sorted(load_feeds())
    assert feeds.resolve(["world-cup"]) == ["world-cup"]
    for wrong in (["nobody"], "service-use", ["service-use", "service-use"]):
        with pytest.raises(ValueError, match=r"Failed validating|is not a .date."):
            feeds.resolve(wrong)
    as_of = bag.dags["nightly_baseline"].params.get_param("as_of")
    assert as_of.resolve("2024-05-01") == "2024-05-01"
    with pytest.raises(ValueError, match=r"Failed validating|is not a .date."):
        as_of.resolve("yesterday")


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
    rooms = {folder.name for folder in DAGS.parent.iterdir() if (folder / "__init__.py").exists()} - OURS
    assert rooms >= {"jobs", "serving", "stack"}
    forbidden = rooms | {"pyspark", "delta", "deltalake", "confluent_kafka", "duckdb", "pandas"}
    assert {name.split(".")[0] for name in imported(file)} & forbidden == set()


@pytest.mark.parametrize("dag_id", sorted(IDS))
def test_a_file_parses_fast_and_talks_to_nobody(dag_id):
    """In a fresh interpreter, with Airflow itself imported: no socket is opened, no process started, under a second."""
    code = f"""
import sys, time
import airflow.sdk, airflow.providers.apache.spark.operators.spark_submit, airflow.triggers.base
def refuse(event, arguments):
    if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.fork", "sqlite3.connect"):
        raise RuntimeError(f"top-level I/O: {{event}} {{arguments}}")
sys.addaudithook(refuse)
started = time.process_time()
import dags.{dag_id}
print(time.process_time() - started)
assert "pyspark" not in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=DAGS.parent, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout.split()[-1]) < 1.0


def test_the_night_is_a_chain_and_the_gate_is_final(bag):
    dag = bag.dags["nightly_baseline"]
    chain = ["feeds", *(f"baseline.{job}" for job in ("archive", "build_baseline", "check_baseline", "promote_baseline"))]
    assert {task.task_id for task in dag.tasks} == set(chain)
    for before, after in pairwise(chain):
        assert dag.get_task(after).upstream_task_ids - {"feeds"} == {before} - {"feeds"}
        assert dag.get_task(after).trigger_rule == "all_success"
        assert f"`{after.removeprefix('baseline.')}`" in dag.doc_md, "the runbook says what to do when it fails"
    assert dag.get_task("baseline.check_baseline").retries == 0
    assert dag.timetable.expression == "0 1 * * *"


def test_streams_are_supervised_without_a_pause(bag):
    dag = bag.dags["supervise_streams"]
    assert type(dag.timetable).__name__ == "ContinuousTimetable"
    assert {task.task_id for task in dag.tasks} == {"feeds", "score"}
