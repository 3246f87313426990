"""`sundial check --queries` in a process of its own: Spark analyzes each declared query, and no stack runs."""

import shutil

import pytest
import yaml
from typer.testing import CliRunner

import stack.commands.check as check
from contracts.queries import QUERIES
from stack.commands.cli import app
from stack.errors import StackError


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """A folder with one of the declared queries."""
    folder = tmp_path / "queries"
    folder.mkdir()
    shutil.copy(QUERIES / "rides-by-amount.yaml", folder)
    run = check.job.printed
    monkeypatch.setattr(check.job, "printed", lambda *words: run(*words, "--queries", str(folder)))
    return folder


@pytest.mark.full
def test_each_mistake_is_named_with_its_file_and_a_sound_query_has_none(declared):
    assert CliRunner().invoke(app, ["check", "--queries"]).exit_code == 0
    content = yaml.safe_load((declared / "rides-by-amount.yaml").read_text()) | {"name": "wrong"}
    content["outputs"][0] |= {"topic": "wrong", "when": "fare < 40"}
    content["inputs"]["rides"] |= {"valid": "amount > 0"}
    (declared / "wrong.yaml").write_text(yaml.safe_dump(content | {"outputs": content["outputs"][:1]}))
    done = CliRunner().invoke(app, ["check", "--queries"])
    assert done.exit_code == 1
    first, second = done.stderr.removeprefix("error: ").splitlines()
    assert first.startswith("wrong.yaml: inputs.rides.valid: [UNRESOLVED_COLUMN")
    assert second.startswith("wrong.yaml: outputs.0.when: [UNRESOLVED_COLUMN")


def test_without_java_the_command_says_what_to_install(monkeypatch):
    def none() -> None:
        raise StackError("no Java found", remedy="install one")

    monkeypatch.setattr(check.java, "binary", none)
    done = CliRunner().invoke(app, ["check", "--queries"])
    assert (done.exit_code, done.stderr.splitlines()) == (1, ["error: no Java found", "what to do: install one"])
    assert CliRunner().invoke(app, ["check"]).exit_code == 0
