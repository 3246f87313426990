"""Rooms import one way, and the formulas know nothing of the world."""

import ast
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent.parent
ROOMS = {"contracts", "jobs", "dags", "serving", "sources", "stack", "bench", "tests"}
MAY_IMPORT = {
    "contracts": set(),
    "jobs": {"contracts"},
    "dags": {"contracts"},
    "serving": {"contracts"},
    "sources": {"contracts"},
    "stack": {"contracts", "sources"},
}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_one_way(room):
    files = list((REPO / room).rglob("*.py"))
    assert files
    for file in files:
        rooms = {name.split(".")[0] for name in imports(file)} & ROOMS - {room}
        assert rooms <= MAY_IMPORT[room], f"{file.relative_to(REPO)} imports {rooms}"


def test_transforms_import_only_columns_arrays_and_each_other():
    for file in (REPO / "jobs" / "transforms").rglob("*.py"):
        for name in imports(file):
            allowed = ("datetime", "collections.abc", "numpy", "pandas", "pyarrow", "pyspark.sql", "jobs.transforms")
            assert name.startswith(allowed), f"{file.name} imports {name}"


def test_inside_jobs_the_supports_do_not_import_entry_points():
    supports = {"settings", "spark", "lake", "history", "wire", "plain", "readings", "rows", "kafka", "driver"}
    for support in supports:
        ours = {
            name.split(".")[1]
            for name in imports(REPO / "jobs" / f"{support}.py")
            if name.startswith("jobs.") and not name.startswith("jobs.transforms")
        }
        assert ours <= supports, f"jobs/{support}.py imports {ours - supports}"
