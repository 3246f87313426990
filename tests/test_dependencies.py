"""What is imported is declared: each third-party module that a file imports comes with a package that pyproject.toml names."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = packages_distributions()


def names(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[A-Za-z0-9._-]+", each).group()) for each in requirements}


def normal(name: str) -> str:
    """As packages are compared: PyYAML is pyyaml, prometheus_client is prometheus-client."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(source: str) -> set[str]:
    """Top-level modules of the absolute imports in a file."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split(".")[0])
    return found


def undeclared(source: str, declared: set[str]) -> set[str]:
    """Third-party modules that a file imports and no declared package brings."""
    own = {path.name.removesuffix(".py") for path in REPO.iterdir()}
    foreign = imported(source) - own - sys.stdlib_module_names
    return {module for module in foreign if not declared & {normal(each) for each in DISTRIBUTIONS.get(module, [])}}


def files(kind: str) -> list[Path]:
    """Python files under version control: of the tests and the documentation, or of what runs without them."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=REPO, check=True, capture_output=True, text=True).stdout.split()
    beside = [name for name in listed if name.startswith(("tests/", "docs/"))]
    found = [REPO / name for name in listed if (name in beside) == (kind == "beside")]
    assert len(found) > 50
    return found


@pytest.mark.parametrize("kind", ["product", "beside"])
def test_every_import_is_declared(kind):
    declared = names(PROJECT["dependencies"])
    if kind == "beside":
        declared |= names([each for extra in PROJECT["optional-dependencies"].values() for each in extra])
    missing = {str(file.relative_to(REPO)): found for file in files(kind) if (found := undeclared(file.read_text(), declared))}
    assert not missing


def test_an_import_of_what_another_package_brings_is_seen():
    source = "import json\nimport numpy as np\nfrom stack import home\nfrom sqlalchemy.orm import Session\nfrom nowhere import x"
    assert undeclared(source, {"numpy"}) == {"sqlalchemy", "nowhere"}
