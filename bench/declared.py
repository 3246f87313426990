"""A feed that is declared otherwise than the checkout declares it, for a driver of its own: in a copy of the checkout."""

import shutil
from collections.abc import Callable
from pathlib import Path

from bench.platform import REPO
from contracts.declarations import SCHEMAS
from contracts.feeds import FEEDS, Feed, load_feed

COPIED = ("contracts", "jobs", "schemas", "supervision", "sitecustomize.py")  # all that a driver reads of a checkout


def declared(name: str, folder: Path, change: Callable[[str], str]) -> Feed:
    """The feed as the copy in the folder declares it. change: of its declaration, as text."""
    for each in COPIED:
        source = REPO / each
        if source.is_dir():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    feeds = folder / FEEDS.relative_to(SCHEMAS.parent)
    file = feeds / f"{name}.yaml"
    file.write_text(change(file.read_text()))
    return load_feed(name, feeds)


def score_in(folder: Path) -> Path:
    """The program that scores by such a copy."""
    return folder / "jobs" / "score.py"
