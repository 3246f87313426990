"""A batch job ends with the Airflow task that started it, also when the task was killed and can't end the job itself.

Otherwise the job would go on beside that of the retry. The task names the processes that the job belongs to in
SUNDIAL_ENDS_WITH: its own and its supervisor's, on this host. A job on another host has no such processes, and is not bound.

The temporary files of the job are in a folder of the task, which the task deletes. If the task was killed, the job deletes it.
"""

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from supervision.process import LOCAL_DIRS

VARIABLE, SCRATCH = "SUNDIAL_ENDS_WITH", "SUNDIAL_SCRATCH"
LOOK_EVERY = 1.0


def bound_to_this_task() -> dict[str, str]:
    """The variable for a job that this process starts."""
    return {VARIABLE: f"{socket.gethostname()} {os.getpid()} {os.getppid()}"}


@contextmanager
def scratch() -> Iterator[dict[str, str]]:
    """A folder for the temporary files of a job, native libraries among them, which a killed driver leaves: the variables for
    spark-submit. They concern its own process, so a driver on another host has its own temporary files."""
    usual = tempfile.gettempdir()  # asked first: Python remembers it, so that TMPDIR changes nothing for the task itself
    within = os.environ.get(LOCAL_DIRS, "").split(",")[0] or usual
    Path(within).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sundial-", dir=within, ignore_cleanup_errors=True) as folder:
        java = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Djava.io.tmpdir={folder}".strip()
        yield {LOCAL_DIRS: folder, "TMPDIR": folder, "SPARK_SUBMIT_OPTS": java, SCRATCH: folder}


def delete_scratch() -> None:
    """In a job whose task is gone."""
    if folder := os.environ.get(SCRATCH):
        shutil.rmtree(folder, ignore_errors=True)


def watch(end: Callable[[], None], env: Mapping[str, str] = os.environ) -> None:
    """Call `end` once, from a thread of its own, when one of the processes is gone; never if the variable names none."""
    host, *pids = env.get(VARIABLE, "").split() or [""]
    if host == socket.gethostname():
        threading.Thread(target=_watch, args=([int(pid) for pid in pids], end), name="task life", daemon=True).start()


def _watch(pids: list[int], end: Callable[[], None]) -> None:
    try:
        tasks = [psutil.Process(pid) for pid in pids]
        while all(task.is_running() and task.status() != psutil.STATUS_ZOMBIE for task in tasks):
            time.sleep(LOOK_EVERY)
    except psutil.NoSuchProcess:
        pass
    end()
