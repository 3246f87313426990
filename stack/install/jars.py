"""The jars of ivy.xml: resolved by the Ivy that pyspark ships, checked against ivy.sha256, unpacked. Standard library only."""

import contextlib
import hashlib
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stack.errors import StackError
from stack.install import java

LOCK = "ivy.sha256"
PLATFORM = ("spark", "kafka", "connect", "registry")
PEERS = ("kafka-streams",)  # what benchmarks measure against: fetched by the benchmark that needs it, not by setup
PATTERN = "[conf]/[artifact]-[revision].[ext]"


def ivy(venv: Path) -> Path:
    found = list(venv.glob("lib/python3*/site-packages/pyspark/jars/ivy-*.jar"))
    if not found:
        raise StackError(f"{venv} has no pyspark with an Ivy jar", remedy="make distclean, then make run")
    return found[0]


def resolve(root: Path, venv: Path, target: Path, say: Callable[[str], None], configurations: Iterable[str]) -> None:
    """Fetch the jars of ivy.xml into `target`, saying each download. Raises StackError naming what could not be had.

    Ivy fetches one file after the other, and waiting is most of it: so one Ivy runs for each configuration. They share its cache.
    """
    command = [
        *(str(java.binary()), "-jar", str(ivy(venv)), "-settings", str(root / "ivysettings.xml"), "-ivy", str(root / "ivy.xml")),
        *("-types", "jar", "distribution", "bundle", "-retrieve", f"{target}/{PATTERN}", "-confs"),
    ]
    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(lambda name: _run([*command, name], root, say), configurations))
    if failed := [line for report in reports for line in report]:
        raise StackError(
            missing(failed), remedy="is the network there? Then run the same command again: what was fetched is kept"
        )


def _run(command: list[str], root: Path, say: Callable[[str], None]) -> list[str]:
    """Ivy's report if it failed, else nothing."""
    report: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=root) as process:
        for line in process.stdout:
            report.append(line.rstrip())
            # [SUCCESSFUL ] org.apache.kafka#kafka-clients;4.2.1!kafka-clients.jar (1234ms)
            if done := re.search(r"\[SUCCESSFUL \] \S+?#(\S+?)!\S+ \((\d+)ms\)", line):
                say(f"{done[1].replace(';', ' ')} ({int(done[2]) / 1000:.1f} s)")
    return report if process.returncode else []


def missing(report: list[str]) -> str:
    """What an Ivy report says could not be fetched."""
    names = dict.fromkeys(found[1] for line in report if (found := re.search(r"^\t\t:: (\S+#\S+?)(?:!\S+)?(?::| \(|$)", line)))
    return f"the jars could not be fetched: {', '.join(names) or ' / '.join(report[-3:])}"


def digests(folder: Path, configurations: Iterable[str] = PLATFORM) -> dict[str, str]:
    """SHA-256 of each fetched file by its name relative to the folder."""
    files = sorted(file for conf in configurations for file in (folder / conf).glob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def verify(folder: Path, lock: Path, configurations: Iterable[str] = PLATFORM) -> None:
    """Raises StackError listing every file that is missing, surplus or not the one that was locked."""
    lines = (line.split("  ", 1) for line in lock.read_text().splitlines())
    locked = {name: digest for digest, name in lines if name.split("/")[0] in configurations}
    actual = digests(folder, configurations)
    wrong = [
        f"{name}: SHA-256 is {actual.get(name, 'none: missing')}, locked is {locked.get(name, 'none: surplus')}"
        for name in sorted(locked | actual)
        if locked.get(name) != actual.get(name)
    ]
    if wrong:
        what = "the jars are not those that were locked:\n  " + "\n  ".join(wrong)
        remedy = "empty Ivy's cache (~/.ivy2/cache) and fetch again; after a wanted change of ivy.xml: make jars LOCK=1"
        raise StackError(what, remedy=remedy)


def write_lock(folder: Path, lock: Path) -> None:
    lock.write_text("".join(f"{digest}  {name}\n" for name, digest in digests(folder, PLATFORM + PEERS).items()))


def unpack(folder: Path) -> None:
    """Unpack the registry's archive into a folder of its name."""
    for archive in (folder / "registry").glob("*.tar.gz"):
        target = archive.with_name(archive.name.removesuffix(".tar.gz"))
        draft = target.with_name(f".{target.name}")
        shutil.rmtree(draft, ignore_errors=True)
        with tarfile.open(archive) as file:
            file.extractall(draft, filter="data")
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)


def fetch(root: Path, venv: Path, folder: Path, say: Callable[[str], None], relock: bool = False) -> None:
    """Fetch into a draft folder, verify, unpack, and only then put in place, so that an interrupted run leaves no half.

    A new lock is of the peers' jars too, so they are fetched with the others then.
    """
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    resolve(root, venv, draft, say, PLATFORM + PEERS if relock else PLATFORM)
    if relock:
        write_lock(draft, root / LOCK)
    verify(draft, root / LOCK)
    unpack(draft)
    replace(draft, folder)


def fetch_peer(root: Path, venv: Path, folder: Path, name: str, say: Callable[[str], None]) -> Path:
    """The folder of a peer's jars, beside the platform's; fetched unless they are there as locked."""
    with contextlib.suppress(StackError):
        verify(folder, root / LOCK, (name,))
        return folder / name
    draft = folder / f".{name}.draft"
    shutil.rmtree(draft, ignore_errors=True)
    resolve(root, venv, draft, say, (name,))
    verify(draft, root / LOCK, (name,))
    replace(draft / name, folder / name)
    draft.rmdir()
    return folder / name


def replace(draft: Path, folder: Path) -> None:
    """Put a draft in the place of a folder."""
    old = folder.with_name(f"{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    draft.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
