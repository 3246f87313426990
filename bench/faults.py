"""What happens to a stack in a soak: a part of it is killed, or stopped, and comes back."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from contracts.run_state import observe, read
from stack import kafka, lifecycle, process, registry
from stack.home import Home

TRIGGERER, SCHEDULER = "airflow-triggerer", "airflow-scheduler"
UNNOTICED = 3.0  # seconds; as long as it takes a person, or a watchdog, to start again what was killed


@dataclass(frozen=True)
class Fault:
    """strike: does it to the stream's driver, which Airflow brings back; parts: are killed, and started again by `sundial up`."""

    name: str
    parts: tuple[str, ...] = ()
    strike: Callable[[psutil.Process], None] = lambda driver: None

    def befall(self, home: Home, folder: Path) -> float:
        """Do it, and what its owner would do; when the part was there again, in seconds since the epoch.

        That is when all that was killed is healthy again. Where the driver alone was hit, it is when Airflow launched another.

        folder: the stream's run-state.
        """
        struck = time.time()
        self.strike(psutil.Process(observe(folder).pid))
        for part in self.parts:
            process.find(home, part).kill()
        time.sleep(UNNOTICED)
        lifecycle.up(home, lambda _: None)
        if self.parts:
            return time.time()
        while (launched := read(folder / "launch.lock").get("at", 0)) < struck:
            time.sleep(0.1)
        return launched


def both(driver: psutil.Process) -> None:
    """Its JVM and its Python process."""
    driver.parent().kill()
    with suppress(psutil.NoSuchProcess):
        driver.kill()


FAULTS = (
    Fault("driver_python", strike=psutil.Process.kill),
    Fault("driver_jvm", strike=lambda driver: driver.parent().kill()),
    Fault("driver_hangs", strike=lambda driver: os.kill(driver.pid, signal.SIGSTOP)),
    Fault("triggerer", (TRIGGERER,)),
    Fault("scheduler", (SCHEDULER,)),
    Fault("broker", (kafka.NAME,)),
    Fault("registry", (registry.NAME,)),
    Fault("driver", strike=both),
    Fault("everything", (TRIGGERER, SCHEDULER, registry.NAME, kafka.NAME), both),
)
