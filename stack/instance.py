"""One embedded stack on this machine: its folder, its ports, its generated secrets, and the environment of its processes."""

import contextlib
import fnmatch
import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import cached_property
from pathlib import Path
from typing import IO

from stack import private
from stack.errors import Busy, StackError
from stack.install import class_archive

ROOT = Path(__file__).resolve().parent.parent
JARS = ROOT / ".jars"
CLASSES = ROOT / ".classes"
HOST = "127.0.0.1"
DEFAULT_BASE = 18000
UNASSIGNED = range(20_000, 32_768)  # Linux gives out those above by itself (net.ipv4.ip_local_port_range)
SPARK_POOL = "spark"
PORTS = ("serving", "airflow", "kafka", "controller", "registry")  # in order: base + 0, + 1, ...
MOST_BROKERS = 9
COPIES = 3  # of each record, where there are as many brokers
SPARK_MASTER = "SUNDIAL_SPARK_MASTER"  # where jobs run instead, e.g. spark://head:7077
# What the person who starts a stack may say to every part.
INHERITED = (
    *("SUNDIAL_CHECKPOINT_SECONDS", "SUNDIAL_STREAM_JAVA_OPTIONS", SPARK_MASTER),
    *("SUNDIAL_STREAM_MEMORY", "SUNDIAL_BATCH_MEMORY"),
    *("SUNDIAL_SERVICES_PER_FEED", "SUNDIAL_METRICS_SERVICES_PER_FEED"),
)
PATIENCE = 10.0  # seconds that a command waits for the lock: the watcher holds it for moments, another command for minutes
MARK = "SUNDIAL_STACK"  # in the environment of each process that a stack starts, and of nothing else


def default_path() -> Path:
    return Path(os.environ.get("SUNDIAL_HOME") or ROOT / ".stack").resolve()


def free_ports(count: int) -> list[int]:
    """Ports without a listener, bound together while choosing, so that they differ.

    Not of those that the system gives to outgoing connections and to listeners without a port of their own: a broker that is away
    would find its port taken when it comes back, and a client that still calls it would reach a stranger.
    """
    with contextlib.ExitStack() as bound:
        found = []
        for port in secrets.SystemRandom().sample(UNASSIGNED, len(UNASSIGNED)):
            if len(found) == count:
                break
            with contextlib.suppress(OSError):
                bound.enter_context(socket.socket()).bind((HOST, port))
                found.append(port)
        return found


def numbered(name: str, broker: int) -> str:
    """What belongs to one of several brokers; the first one's bears no number."""
    return name if broker == 1 else f"{name}-{broker}"


def port_names(brokers: int) -> tuple[str, ...]:
    return PORTS + tuple(numbered(name, broker) for broker in range(2, brokers + 1) for name in ("kafka", "controller"))


# What a stack's folder holds: the parts' folders, what they share, and what a JVM leaves behind that crashed in it.
OWN = (
    *("airflow", "connect", "kafka", "kafka-[0-9]*", "lake", "logs", "registry", "run", "streams"),
    *("history.*.json", "hs_err_pid*.log", "lock", "ports.json", "restarts.json", "secrets.json", "users.json"),
)


@dataclass(frozen=True)
class Instance:
    """One stack. Two with different folders and ports share nothing."""

    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def runs(self) -> Path:
        return self.path / "run"

    @property
    def streams(self) -> Path:
        return self.path / "streams"

    @property
    def lake(self) -> Path:
        return self.path / "lake"

    @property
    def users(self) -> Path:
        """Who may log in to the dashboard: see `contracts.users`."""
        return self.path / "users.json"

    @property
    def audit_log(self) -> Path:
        return self.logs / "audit.jsonl"

    def exists(self) -> bool:
        return (self.path / "ports.json").exists()

    def make(self, base: int | None = None, brokers: int | None = None) -> "Instance":
        """Create the folder, its ports (`base` 0: any free ones) and its secrets; what exists is kept. One broker by default.

        Raises StackError for a folder that holds files already: a stack's folder is private to it, and `clean` deletes it.
        """
        if not self.exists() and (others := self._held()):
            what = f"{self.path} is no stack's folder: it holds {', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
            raise StackError(what, remedy="name an empty folder, or one that is not there, with --home")
        for folder in (self.path, self.logs, self.runs, self.streams, self.lake):
            folder.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        has = len(self.brokers) if self.exists() else None
        if has and brokers and brokers != has:
            what = f"the stack in {self.path} was made with {has} Kafka {'broker' if has == 1 else 'brokers'}, not {brokers}"
            raise StackError(what, remedy="sundial clean deletes it with its data; or name another with --home")
        if base is not None or not has:
            self._choose_ports(DEFAULT_BASE if base is None else base, port_names(has or brokers or 1))
        private.kept(self.path / "secrets.json")
        return self

    def _held(self) -> list[str]:
        """Names in the folder, sorted, without the lock and empty folders, which also a command leaves that was interrupted."""
        there = (each for each in self.path.iterdir() if each.name != "lock") if self.path.is_dir() else ()
        return sorted(each.name for each in there if each.is_symlink() or not each.is_dir() or any(each.iterdir()))

    def others(self) -> list[str]:
        """Names in the folder that no stack gives, sorted."""
        there = (each.name for each in self.path.iterdir()) if self.path.is_dir() else ()
        return sorted(name for name in there if not any(fnmatch.fnmatchcase(name, own) for own in OWN))

    def delete(self) -> None:
        """Delete what the stack made, and its folder, unless that holds other files."""
        others = self.others()
        for each in self.path.iterdir():
            if each.name in others:
                continue
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
        if not others:
            self.path.rmdir()

    def _choose_ports(self, base: int, names: tuple[str, ...]) -> None:
        if base and not 1024 <= base <= 65535 - len(names):
            raise StackError(f"--port-base {base} is out of range", remedy=f"choose 0 or 1024 to {65535 - len(names)}")
        numbers = range(base, base + len(names)) if base else self._kept_or_free(len(names))
        (self.path / "ports.json").write_text(json.dumps(dict(zip(names, numbers, strict=True)), indent=1))
        self.__dict__.pop("ports", None)

    def _kept_or_free(self, count: int) -> list[int]:
        """Free ports once chosen stay, so that addresses survive a restart."""
        kept = self.ports if self.exists() else {}
        if kept and kept["serving"] != DEFAULT_BASE:
            return list(kept.values())
        return free_ports(count)

    @cached_property
    def ports(self) -> dict[str, int]:
        file = self.path / "ports.json"
        if not file.exists():
            raise StackError(f"no stack in {self.path}", remedy="start one: sundial up, or name another with --home")
        return json.loads(file.read_text())

    @cached_property
    def secrets(self) -> dict[str, str]:
        return private.kept(self.path / "secrets.json")

    @property
    def brokers(self) -> range:
        """The numbers of the Kafka brokers, from 1."""
        return range(1, 1 + sum(name.startswith("kafka") for name in self.ports))

    @property
    def replication(self) -> int:
        """How many brokers keep each record."""
        return min(COPIES, len(self.brokers))

    @property
    def kafka(self) -> str:
        return ",".join(f"{HOST}:{self.ports[numbered('kafka', broker)]}" for broker in self.brokers)

    @property
    def registry(self) -> str:
        return f"http://{HOST}:{self.ports['registry']}/apis/ccompat/v7"

    @property
    def api(self) -> str:
        return f"http://{HOST}:{self.ports['serving']}"

    @property
    def airflow(self) -> str:
        return f"http://{HOST}:{self.ports['airflow']}"

    def environment(self) -> dict[str, str]:
        """The variables by which every part finds the platform."""
        return {
            "SUNDIAL_KAFKA": self.kafka,
            "SUNDIAL_REGISTRY": self.registry,
            "SUNDIAL_LAKE": str(self.lake),
            "SUNDIAL_STREAMS": str(self.streams),
            "SUNDIAL_JARS": str(JARS / "spark"),
            "SUNDIAL_JAVA_OPTIONS": class_archive.java_options(CLASSES / "spark.jsa"),
            # Batch jobs of this size are over before the optimizing compiler pays; a stream lives long and gets it.
            "SUNDIAL_BATCH_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "SUNDIAL_SPARK_POOL": SPARK_POOL,
            "SUNDIAL_API": self.api,
            "SUNDIAL_HOME": str(self.path),
        }

    def process_environment(self, *secrets: str) -> dict[str, str]:
        """The whole environment of a process of this stack: the caller's, without what belongs to another stack or Airflow.
        secrets: beginnings of names; only a part that needs such a variable gets it."""
        foreign = ("SUNDIAL_", "AIRFLOW_", "_AIRFLOW_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(foreign) or k in INHERITED or k.startswith(secrets)}
        first = str(Path(sys.prefix) / "bin")
        path = os.pathsep.join([first, *(each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each != first)])
        # SPT_NOENV: a process that changes its title (Airflow's do) would otherwise write over its environment, and the mark.
        own = {"SPT_NOENV": "1", "PATH": path, "VIRTUAL_ENV": sys.prefix, "SPARK_LOCAL_IP": HOST, MARK: str(self.path)}
        return inherited | own | self.environment()

    @contextlib.contextmanager
    def locked(self, patience: float = PATIENCE) -> Iterator[None]:
        """Held while starting or stopping, so that two who do so at once do not trip over each other.

        Raises Busy if another process still holds it after `patience` seconds.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as file:
            deadline = time.monotonic() + patience
            while not _taken(file):
                if time.monotonic() > deadline:
                    raise Busy(f"another command is starting or stopping the stack in {self.path}", remedy="wait for it")
                time.sleep(0.1)
            yield


def _taken(file: IO) -> bool:
    """Whether the lock of this file was free, and is this process's now."""
    with contextlib.suppress(BlockingIOError):
        flock(file, LOCK_EX | LOCK_NB)
        return True
    return False
