"""Rooms import one way, nothing imports an entry point, and the formulas know nothing of the world."""

import ast
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent
ROOMS = {"contracts", "supervision", "jobs", "dags", "serving", "sources", "stack", "sundial", "bench", "tests"}
MAY_IMPORT = {
    "contracts": set(),
    "supervision": {"contracts"},
    "jobs": {"contracts", "supervision"},
    "dags": {"contracts", "supervision"},
    "serving": {"contracts", "supervision", "jobs"},
    "sources": {"contracts"},
    "stack": {"contracts", "sources", "supervision", "jobs"},
    "sundial": {"serving"},
}
# Of jobs/, other rooms may use formulas that need no Spark alone.
DETECTOR = "jobs.transforms.detector"
OF_JOBS = (DETECTOR, "jobs.transforms.deviation", "jobs.transforms.incident_walk", "jobs.transforms.public_holidays")
WITHOUT = {
    "contracts": {"pyspark", "airflow"},
    "supervision": {"pyspark", "airflow"},
    "dags": {"pyspark"},
    "serving": {"pyspark", "airflow"},
    "sources": {"pyspark", "airflow"},
    "sundial": {"pyspark", "airflow"},
}
# Of serving/, what the client may use.
MODELS = (
    "serving.baseline_models",
    "serving.fleet_models",
    "serving.health_models",
    "serving.models",
    "serving.overview_models",
    "serving.query_tables.models",
    "serving.statement_models",
)
# Inside jobs/, each room may use those named here; the files beside the rooms, but for this one, are entry points.
ERRORS = "errors"
INSIDE_JOBS = {
    "transforms": set(),
    "formats": {"transforms", ERRORS},
    "backends": {"formats", "transforms", ERRORS},
    "streams": {"backends", "formats", "transforms", ERRORS},
}
# Inside stack/, likewise; beside the rooms are what all of them use and the main job, which only a command starts.
INSIDE_STACK = {
    "install": {"errors"},
    "deploy": {"errors", "instance"},
    "parts": {"errors", "instance", "private", "install", "deploy"},
    "sample": {"errors"},
    "backtest": {"errors", "instance", "sample"},
    "commands": {"errors", "instance", "install", "deploy", "parts", "sample", "backtest", "main_job"},
}
FORMULAS_MAY_IMPORT = (
    *(
        "datetime",
        "json",
        "re",
        "collections.abc",
        "dataclasses",
        "functools",
        "typing",
        "numpy",
        "pandas",
        "pyarrow",
        "pyspark.sql",
    ),
    "holidays",
    "jobs.transforms",
)


def imports(file: Path, at_once: bool = False) -> set[str]:
    """Dotted names; `at_once`: without what functions import when they are called."""
    tree, found = ast.parse(file.read_text()), set()
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(*room: str) -> list[Path]:
    found = list(REPO.joinpath(*room).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_one_way(room):
    for file in files(room):
        rooms = {name.split(".")[0] for name in imports(file)} & ROOMS - {room}
        assert rooms <= MAY_IMPORT[room], f"{file.relative_to(REPO)} imports {rooms - MAY_IMPORT[room]}"


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT) - {"jobs"}))
def test_other_rooms_use_the_formulas_without_spark_alone(room):
    for file in files(room):
        of_jobs = {name for name in imports(file) if name.split(".")[0] == "jobs"}
        assert all(name.startswith(OF_JOBS) for name in of_jobs), f"{file.relative_to(REPO)} imports {of_jobs}"


def test_the_client_uses_the_models_of_the_api_alone():
    for file in [*files("sundial"), *(REPO / f"{name.replace('.', '/')}.py" for name in MODELS)]:
        of_serving = {name for name in imports(file) if name.split(".")[0] == "serving"}
        assert all(name.startswith(MODELS) for name in of_serving), f"{file.relative_to(REPO)} imports {of_serving}"


def test_formulas_that_others_use_need_arrays_alone():
    for file in files("jobs", "transforms", "detector"):
        for name in imports(file):
            assert name.startswith(("typing", "collections.abc", "dataclasses", "datetime", "functools", "numpy", DETECTOR)), (
                f"{file.name} imports {name}"
            )


@pytest.mark.parametrize("room", WITHOUT)
def test_rooms_do_without_engines(room):
    for file in files(room):
        found = {name.split(".")[0] for name in imports(file)} & WITHOUT[room]
        assert not found, f"{file.relative_to(REPO)} imports {found}"


@pytest.mark.parametrize("room", INSIDE_JOBS)
def test_inside_jobs_rooms_import_one_way_and_no_entry_point(room):
    for file in files("jobs", room):
        used = {name.split(".")[1] for name in imports(file) if name.startswith("jobs.")}
        assert used <= INSIDE_JOBS[room] | {room}, f"{file.relative_to(REPO)} imports {used - INSIDE_JOBS[room]}"


@pytest.mark.parametrize("room", INSIDE_STACK)
def test_inside_the_stack_rooms_import_one_way(room):
    for file in files("stack", room):
        used = {name.split(".")[1] for name in imports(file) if name.startswith("stack.")}
        assert used <= INSIDE_STACK[room] | {room}, f"{file.relative_to(REPO)} imports {used - INSIDE_STACK[room]}"


def test_setting_up_needs_the_standard_library_alone():
    for file in [*files("stack", "install"), REPO / "stack/errors.py"]:
        used = {name.split(".")[0] for name in imports(file, at_once=True)}
        assert used <= sys.stdlib_module_names | {"stack"}, f"{file.relative_to(REPO)} imports {used}"


def test_entry_points_do_not_import_each_other():
    entry_points = {file.stem for file in (REPO / "jobs").glob("*.py")} - {"__init__", ERRORS}
    for file in (REPO / "jobs").glob("*.py"):
        used = {name.split(".")[1] for name in imports(file) if name.startswith("jobs.")} & entry_points
        assert not used, f"{file.relative_to(REPO)} imports {used}"


@pytest.mark.parametrize("room", sorted(ROOMS - {"tests"}))
def test_modules_of_a_room_import_each_other_in_no_circle(room):
    imported = {".".join(file.relative_to(REPO).with_suffix("").parts): imports(file) for file in files(room)}
    used = {
        module: {name for found in names for name in (found, found.rpartition(".")[0]) if name in imported and name != module}
        for module, names in imported.items()
    }
    while free := [module for module, others in used.items() if not others & used.keys()]:
        for module in free:
            del used[module]
    assert not used, f"a circle among {', '.join(used)}"


def test_formulas_import_only_columns_arrays_and_each_other():
    for file in files("jobs", "transforms"):
        for name in imports(file):
            assert name.startswith(FORMULAS_MAY_IMPORT), f"{file.name} imports {name}"
