"""`sundial --version`: Sundial's own version, and those of the parts that it runs."""

import subprocess
from importlib.metadata import version
from xml.etree import ElementTree

import typer

from stack.instance import ROOT

PACKAGES = {"Spark": "pyspark", "Airflow": "apache-airflow"}  # by their Python packages
JARS = {"Kafka": "kafka_2.13", "Delta Lake": "delta-spark_4.2_2.13"}  # by their modules in ivy.xml


def show(wanted: bool) -> None:
    """The callback of `--version`."""
    if wanted:
        for name, number in versions().items():
            typer.echo(f"{name} {number}")
        raise typer.Exit


def versions() -> dict[str, str]:
    """By name, Sundial first; with its commit where the code is a git work tree."""
    modules = ElementTree.parse(ROOT / "ivy.xml").iter("dependency")  # noqa: S314 (a file of our own)
    revisions = {each.get("name"): each.get("rev") for each in modules}
    commit = _commit()
    return {
        "sundial": version("sundial") + (f" (commit {commit})" if commit else ""),
        **{name: version(package) for name, package in PACKAGES.items()},
        **{name: revisions[module] for name, module in JARS.items()},
    }


def _commit() -> str:
    """The commit, marked `-dirty` where files differ from it; empty without git or outside of a work tree."""
    if not (ROOT / ".git").exists():
        return ""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
