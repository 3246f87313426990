"""What happens to a stack in a soak: a part of it is killed, or stopped, and comes back."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from bench.platform import wait_for
from stack.instance import Instance
from stack.parts import kafka, process, registry, status
from supervision.files import StreamFolder
from supervision.process import kill
from supervision.status import read_status

TRIGGERER, SCHEDULER = "airflow-triggerer", "airflow-scheduler"


@dataclass(frozen=True)
class Fault:
    """strike: acts on the stream's driver, which Airflow launches again; parts: are killed, and the watcher starts them again."""

    name: str
    parts: tuple[str, ...] = ()
    strike: Callable[[StreamFolder], None] = lambda stream: None

    def befall(self, instance: Instance, stream: StreamFolder) -> float:
        """Do it; when the part was there again, in seconds since the epoch.

        That is when all that was killed is healthy again. Where the driver alone was hit, it is when Airflow launched another.
        """
        struck = time.time()
        self.strike(stream)
        killed = {part: process.find(instance, part) for part in self.parts}
        for each in killed.values():
            each.kill()
        if killed:
            wait_for("a healthy stack", lambda: _replaced(instance, killed) and all(status.checks(instance).values()))
            return time.time()
        while (launched := stream.read_launch().at) < struck:
            time.sleep(0.1)
        return launched


def _replaced(instance: Instance, killed: dict[str, psutil.Process]) -> bool:
    return all(process.find(instance, part) not in (None, each) for part, each in killed.items())


def python(stream: StreamFolder) -> psutil.Process:
    """The driver's Python process; its parent is the JVM."""
    return psutil.Process(read_status(stream).pid)


FAULTS = (
    Fault("driver_python", strike=lambda stream: python(stream).kill()),
    Fault("driver_jvm", strike=lambda stream: python(stream).parent().kill()),
    Fault("driver_hangs", strike=lambda stream: os.kill(python(stream).pid, signal.SIGSTOP)),
    Fault("triggerer", (TRIGGERER,)),
    Fault("scheduler", (SCHEDULER,)),
    Fault("broker", (kafka.NAME,)),
    Fault("registry", (registry.NAME,)),
    Fault("driver", strike=kill),
    Fault("everything", (TRIGGERER, SCHEDULER, registry.NAME, kafka.NAME), kill),
)
