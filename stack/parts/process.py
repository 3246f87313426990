"""Processes of a stack: started in sessions of their own, recorded, watched, and stopped with everything they started.

A record holds pid and creation time, so that a pid which the system gave to another process later is not mistaken for it.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from stack.errors import StackError, tail
from stack.instance import HOST, MARK, Instance
from supervision import machine

CLOCK_SLACK = 1.0  # seconds by which a creation time may seem to move when the system's clock is set
LOG_LIMIT = 20_000_000  # bytes; a longer log is put aside as <name>.log.1 at the next start
GRACE = 15.0  # seconds between asking a process to end and ending it


@dataclass(frozen=True)
class Part:
    """A process of the stack: how to start it, and how to know that it works."""

    name: str
    command: list[str]
    environment: dict[str, str]
    healthy: Callable[[], bool]
    prepare: Callable[[], None] = lambda: None  # what is done before each start
    port: int | None = None  # the port it listens on, if any
    timeout: float = 90.0  # seconds until it must be healthy, on a machine that is free
    folder: Path | None = None  # where it runs


def log_file(instance: Instance, name: str) -> Path:
    return instance.logs / f"{name}.log"


def find(instance: Instance, name: str) -> psutil.Process | None:
    """The recorded process of that name if it still lives; a recycled pid or a zombie does not count."""
    record = _record(instance, name)
    return alive(record["pid"], record["created"]) if record else None


def port(instance: Instance, name: str) -> int | None:
    """Where the recorded process of that name listens, if it does."""
    return _record(instance, name).get("port")


def _record(instance: Instance, name: str) -> dict:
    """Empty if nothing of that name was started, or if it was stopped."""
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return json.loads((instance.runs / f"{name}.json").read_text())
    return {}


def alive(pid: int, created: float) -> psutil.Process | None:
    """The process with that pid, if it is the one created then."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - created) < CLOCK_SLACK and not gone(process):
            return process
    return None


def recorded(instance: Instance) -> list[str]:
    """Names of all processes that were started and not stopped, oldest first."""
    return [file.stem for file in sorted(instance.runs.glob("*.json"), key=lambda file: file.stat().st_mtime)]


def start(instance: Instance, part: Part) -> bool:
    """Start a part unless it runs already; True if it was started. It is not waited for: see `wait`.

    What a killed predecessor has left of its session is ended first: it would hold ports and memory, and do its work twice.
    """
    if find(instance, part.name):
        return False
    kill(left_behind(instance, part.name))
    if part.port:
        require_free(part.port, part.name)
    part.prepare()
    log = log_file(instance, part.name)
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))
    with log.open("ab") as out:
        popen = subprocess.Popen(
            part.command,
            env=part.environment,
            cwd=part.folder or instance.path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    record = {"pid": popen.pid, "created": psutil.Process(popen.pid).create_time(), "port": part.port}
    draft = instance.runs / f".{part.name}.tmp"
    draft.write_text(json.dumps(record))
    draft.replace(instance.runs / f"{part.name}.json")
    return True


def wait(instance: Instance, part: Part) -> None:
    """Wait until a part is healthy. Raises StackError with the end of its log if it ends or stays unhealthy."""
    began, log = time.monotonic(), log_file(instance, part.name)
    while not part.healthy():
        if not find(instance, part.name):
            what = f"{part.name} ended while starting; the last lines of its log:\n{tail(log)}"
            raise StackError(what, log=log, remedy="correct what the log says, then: sundial up")
        if (waited := time.monotonic() - began) > part.timeout * machine.slowness():
            what = f"{part.name} is not healthy after {waited:.0f} s; the last lines of its log:\n{tail(log)}"
            raise StackError(what, log=log, remedy=f"look at it: sundial logs {part.name}; then: sundial down && sundial up")
        time.sleep(0.2)


def require_free(port: int, name: str) -> None:
    """Raises StackError naming who holds the port, if anyone does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            what = f"port {port} of {HOST}, which {name} needs, is in use by {holder(port)}"
            remedy = "stop that process, or choose other ports: --port-base N (0 takes any free ones)"
            raise StackError(what, remedy=remedy) from None


def listening(port: int) -> bool:
    """A process accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def holder(port: int) -> str:
    """Who listens on a port, for people."""
    for connection in psutil.net_connections("tcp"):
        address = connection.laddr
        if connection.status == psutil.CONN_LISTEN and address and address.port == port and connection.pid:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process = psutil.Process(connection.pid)
                return f"process {process.pid} ({' '.join(process.cmdline())[:120]})"
    return "a process of another user"


def stop(instance: Instance, name: str, grace: float = GRACE) -> bool:
    """Stop a recorded process and its session; True if it was running."""
    process = find(instance, name)
    if process:
        stop_tree(process, grace)
    (instance.runs / f"{name}.json").unlink(missing_ok=True)
    return process is not None


def stop_tree(process: psutil.Process, grace: float = GRACE) -> None:
    """SIGTERM the leader of a session, wait, then end what is left of the session."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
    wait_gone([process], grace)
    kill(session(process.pid))


def session(leader: int) -> list[psutil.Process]:
    """Processes of a session, also those whose parent is gone."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader and not gone(process):
                members.append(process)
    return members


def left_behind(instance: Instance, name: str) -> list[psutil.Process]:
    """What lives on in the session of a recorded process that is gone.

    No new process gets the number of a session that has members: where another process has it, none of this session is left.
    """
    if not (record := _record(instance, name)):
        return []
    try:
        leader = psutil.Process(record["pid"])
    except psutil.NoSuchProcess:
        return session(record["pid"])
    return session(leader.pid) if abs(leader.create_time() - record["created"]) < CLOCK_SLACK else []


def kill(processes: list[psutil.Process]) -> None:
    """SIGTERM, two seconds, SIGKILL; psutil makes sure that no recycled pid is hit."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        processes = wait_gone(processes, 2)


def gone(process: psutil.Process) -> bool:
    """It ended; a zombie has ended too, only its parent has not collected it."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_gone(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until all have ended, but not longer; those that have not."""
    deadline = time.monotonic() + seconds
    while (left := [process for process in processes if not gone(process)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def strays(instance: Instance) -> list[psutil.Process]:
    """Processes that carry this stack's mark in their environment: whatever it started that still lives."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if process.pid != os.getpid() and process.environ().get(MARK) == str(instance.path):
                found.append(process)
    return found
