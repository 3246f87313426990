"""Makes a clone able to run: checks the machine, installs the locked Python packages, fetches the locked jars.

Runs before the virtual environment exists, so it uses the standard library only:  python3.11 -m stack.install.setup
A stamp beside each result holds a hash of what it was made from; where it matches, the step costs nothing and needs no network.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from stack.errors import StackError
from stack.install import class_archive, jars, java

ROOT = Path(__file__).resolve().parents[2]
VENV, JARS = ROOT / ".venv", ROOT / ".jars"
ARCHIVED = ROOT / ".classes"
PYTHON = (3, 11)
DISK = 4_000_000_000  # bytes: environment, caches, jars and room for the first data
PACKAGES = ("requirements.txt", "pyproject.toml", "stack/install/uv.txt")
JAR_FILES = ("ivy.xml", "ivysettings.xml", jars.LOCK)
TRAINED = (*PACKAGES, *JAR_FILES, "stack/install/class_archive.py")
ARCHIVE = "an archive of Spark's classes, so that later starts are faster (once; some minutes beside a running stack)"
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:6.1f} s  {text}", flush=True)


def fingerprint(names: tuple[str, ...]) -> str:
    """Of the files a result is made from, and of the place where it stands."""
    digest = hashlib.sha256(str(ROOT).encode())
    for name in names:
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


def fresh(folder: Path, names: tuple[str, ...]) -> bool:
    stamp = folder / ".made-from"
    return stamp.exists() and stamp.read_text() == fingerprint(names)


def check_machine() -> None:
    if sys.version_info[:2] != PYTHON:
        found = ".".join(map(str, sys.version_info[:3]))
        raise StackError(
            f"this is Python {found}; Sundial needs 3.11", remedy="install Python 3.11, or: make PYTHON=/path/to/python3.11"
        )
    java.check()
    if (free := shutil.disk_usage(ROOT).free) < DISK:
        raise StackError(f"{ROOT} has {free / 1e9:.1f} GB free; {DISK / 1e9:.0f} GB are needed", remedy="free some space")


def run(what: str, *command: str | Path) -> None:
    """Run an installer, showing its output. Raises StackError naming what was being fetched."""
    if subprocess.run([*map(str, command)], cwd=ROOT, env={**os.environ, "VIRTUAL_ENV": str(VENV)}).returncode:
        raise StackError(
            f"{what} failed; the lines above name the package", remedy="is the network there? Then run the same command again"
        )


def install_packages() -> None:
    """The virtual environment with exactly the locked packages, and this project in it, editable."""
    (VENV / ".made-from").unlink(missing_ok=True)
    python, uv = VENV / "bin/python", VENV / "bin/uv"
    if not python.exists() or subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode:
        run(
            "making the virtual environment .venv (Debian: apt-get install python3.11-venv)",
            sys.executable,
            "-m",
            "venv",
            "--clear",
            VENV,
        )
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    run("fetching uv", python, "-m", "pip", "install", *quiet, "--require-hashes", "--no-deps", "-r", "stack/install/uv.txt")
    say("installing requirements.txt (about 700 MB to download on a first run)")
    # With bytecode: where Python may not write it (PYTHONDONTWRITEBYTECODE), each process would compile all that it imports.
    run("installing requirements.txt", uv, "pip", "sync", "--require-hashes", "--compile-bytecode", "requirements.txt")
    run(
        "installing Sundial", uv, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--offline", "--editable", "."
    )
    (VENV / ".made-from").write_text(fingerprint(PACKAGES))


def fetch_jars(relock: bool) -> None:
    jars.fetch(ROOT, VENV, JARS, lambda text: say(f"  {text}"), relock)
    (JARS / ".made-from").write_text(fingerprint(JAR_FILES))


def archive_classes() -> None:
    ARCHIVED.mkdir(exist_ok=True)
    if not class_archive.make(VENV, JARS / "spark", ARCHIVED / "spark.jsa"):
        say(f"  no archive was made (see {ARCHIVED / 'class-archive.log'}); Spark will start slower, nothing else")
    (ARCHIVED / ".made-from").write_text(fingerprint(TRAINED))


def missing(relock: bool, archive: bool) -> list[tuple[str, Callable[[], None]]]:
    """(what it makes, step) of all steps whose result is not there yet. archive: that of Spark's classes too; without it
    everything works, only slower."""
    steps: list[tuple[str, Callable[[], None]]] = []
    if not fresh(VENV, PACKAGES):
        steps.append(("Python packages into .venv", install_packages))
    if relock or not fresh(JARS, JAR_FILES):
        steps.append(("jars into .jars (about 170 MB to download on a first run)", lambda: fetch_jars(relock)))
    if archive and (steps or not fresh(ARCHIVED, TRAINED)):
        steps.append((ARCHIVE, archive_classes))
    return steps


def setup(relock: bool, archive: bool) -> None:
    """All steps that are missing."""
    if not missing(relock, archive):
        return
    check_machine()
    with _alone():
        steps = missing(relock, archive)
        for number, (what, step) in enumerate(steps, 1):
            say(f"setup {number}/{len(steps)}: {what}")
            step()
    say("setup done")


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Waits while another setup of this clone runs: both would write the same folders."""
    with (ROOT / ".setup.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waits for another setup of this clone")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lock-jars", action="store_true", help=f"fetch the jars again and rewrite {jars.LOCK}")
    parser.add_argument("--no-archive", action="store_true", help="leave the archive of Spark's classes for later")
    arguments = parser.parse_args()
    try:
        setup(arguments.lock_jars, archive=not arguments.no_archive)
    except StackError as failure:
        sys.exit(f"error: {failure}")
    except KeyboardInterrupt:
        sys.exit("interrupted; run the same command again to go on")


if __name__ == "__main__":
    main()
