"""`sundial new query`: what it writes is a query that works, with a test that passes, and never over something."""

import shutil
import subprocess
import sys

import pytest

from contracts.declared_topics import declared_topics
from stack.commands import new_query
from stack.errors import StackError
from stack.instance import JARS, ROOT

ROOMS = ("bench", "contracts", "dags", "jobs", "schemas", "serving", "sources", "stack", "sundial", "supervision", "tests")
PURE = "tests/test_house.py::test_formulas_import_only_columns_arrays_and_each_other"


@pytest.mark.full
def test_the_tests_of_skeletons_pass_as_they_stand(tmp_path):
    """In a copy of the repository, as its users have them: a function on a topic with Avro keys, SQL on a feed's topic
    and on JSON."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / ".jars").symlink_to(JARS.resolve())
    declared = declared_topics()
    new_query.write(tmp_path, new_query.skeleton("all-rides", "rides", declared, sql=False))
    new_query.write(tmp_path, new_query.skeleton("all-use", "service-use", declared, sql=True))
    new_query.write(tmp_path, new_query.skeleton("all-views", "product-views", declared, sql=True))
    tests = [f"tests/transforms/test_all_{name}.py" for name in ("rides", "use", "views")]
    checks = [*tests, PURE, f"--basetemp={tmp_path}/bt", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run([sys.executable, "-m", "pytest", *checks], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "4 passed" in ran.stdout
    style = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=tmp_path, capture_output=True, text=True)
    assert style.returncode == 0, style.stdout


def test_nothing_is_overwritten(tmp_path):
    files = new_query.skeleton("all-rides", "rides", declared_topics(), sql=False)
    mine = tmp_path / "tests/transforms/test_all_rides.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(StackError, match=r"^tests/transforms/test_all_rides\.py: there already"):
        new_query.write(tmp_path, files)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [mine]
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", ["../etc", "Rides", "a b", "rides", ""])
def test_a_name_that_no_query_can_have_is_refused(name):
    with pytest.raises(StackError, match="can't be a query's name"):
        new_query.skeleton(name, "rides", declared_topics(), sql=True)


@pytest.mark.parametrize("topic", ["nowhere", "rides.dead-letter"])
def test_a_topic_without_a_contract_is_answered_with_those_that_have_one(topic):
    with pytest.raises(StackError, match=r"(?s)no declared topic with a contract: .*one of: .*service-use.scored.*rides"):
        new_query.skeleton("copies", topic, declared_topics(), sql=True)
