"""How the stack ends the streams, which outlive Airflow."""

import contextlib
import time

import psutil

from contracts.run_state import held, observe_all
from stack import process
from stack.home import Home

STOP_WAIT = 15.0  # seconds that a driver has to end its query cleanly


def stop_all(home: Home, patience: float = STOP_WAIT) -> list[str]:
    """Ask every driver to end, wait, then end it; names of the streams that ran."""
    running = [stream for stream in observe_all(home.streams) if stream.lives]
    for stream in running:
        (stream.folder / "stop").touch()
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and any(held(stream.folder / "driver.lock") for stream in running):
        time.sleep(0.2)
    for stream in running:
        if held(stream.folder / "driver.lock"):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.stop_tree(psutil.Process(stream.pid), grace=5)
        (stream.folder / "stop").unlink(missing_ok=True)
    return [stream.name for stream in running]
