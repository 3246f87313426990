"""What happens to a stack in a soak: a part of it is killed, or stopped, and comes back."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from stack.instance import Instance
from stack.parts import kafka, lifecycle, process, registry
from supervision.files import StreamFolder
from supervision.process import kill
from supervision.status import read_status

TRIGGERER, SCHEDULER = "airflow-triggerer", "airflow-scheduler"
UNNOTICED = 3.0  # seconds; as long as it takes a person, or a watchdog, to start again what was killed


@dataclass(frozen=True)
class Fault:
    """strike: acts on the stream's driver, which Airflow launches again; parts: are killed, and started by `sundial up`."""

    name: str
    parts: tuple[str, ...] = ()
    strike: Callable[[StreamFolder], None] = lambda stream: None

    def befall(self, instance: Instance, stream: StreamFolder) -> float:
        """Do it, and what its owner would do; when the part was there again, in seconds since the epoch.

        That is when all that was killed is healthy again. Where the driver alone was hit, it is when Airflow launched another.
        """
        struck = time.time()
        self.strike(stream)
        for part in self.parts:
            process.find(instance, part).kill()
        time.sleep(UNNOTICED)
        lifecycle.up(instance, lambda _: None)
        if self.parts:
            return time.time()
        while (launched := stream.read_launch().at) < struck:
            time.sleep(0.1)
        return launched


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
