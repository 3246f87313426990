"""A batch job ends with the Airflow task that started it, also when the task was killed and can't end the job itself.

Otherwise the job would go on beside that of the retry. The task names the processes that the job belongs to in
SUNDIAL_ENDS_WITH: its own and its supervisor's, on this host. A job on another host has no such processes, and is not bound.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping

import psutil

VARIABLE = "SUNDIAL_ENDS_WITH"
LOOK_EVERY = 1.0


def bound_to_this_task() -> dict[str, str]:
    """The variable for a job that this process starts."""
    return {VARIABLE: f"{socket.gethostname()} {os.getpid()} {os.getppid()}"}


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
