"""`sundial --version` says what runs here: its own version and commit, and the versions of its parts."""

import shutil
import subprocess
import tomllib

import pytest
from typer.testing import CliRunner

from stack.commands import version
from stack.commands.cli import app
from stack.instance import JARS, ROOT


def shown() -> list[str]:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@pytest.fixture
def no_work_tree(tmp_path, monkeypatch):
    """As in an image, which holds no git repository."""
    shutil.copy(ROOT / "ivy.xml", tmp_path)
    monkeypatch.setattr(version, "ROOT", tmp_path)
    return tmp_path


def test_the_parts_are_those_that_are_declared_and_fetched(no_work_tree):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(each.split("==") for each in project["dependencies"] if "==" in each)
    (kafka,) = (JARS / "kafka").glob("kafka_2.13-[0-9]*.jar")
    (delta,) = (JARS / "spark").glob("delta-spark_*.jar")
    assert shown() == [
        f"sundial {project['version']}",
        f"Spark {pinned['pyspark']}",
        f"Airflow {pinned['apache-airflow']}",
        f"Kafka {kafka.stem.rpartition('-')[2]}",
        f"Delta Lake {delta.stem.rpartition('-')[2]}",
    ]


def test_the_commit_is_named_where_there_is_one_and_so_is_a_change_of_it(no_work_tree):
    def git(*words: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        return subprocess.run(["git", *identity, *words], cwd=no_work_tree, capture_output=True, text=True, check=True).stdout

    git("init")
    git("add", "ivy.xml")
    git("commit", "--message", "one")
    commit = git("rev-parse", "--short=12", "HEAD").strip()
    assert shown()[0].endswith(f" (commit {commit})")
    (no_work_tree / "ivy.xml").write_text((no_work_tree / "ivy.xml").read_text() + "\n")
    assert shown()[0].endswith(f" (commit {commit}-dirty)")
