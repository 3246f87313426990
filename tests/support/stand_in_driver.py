"""A stand-in for spark-submit and its driver: two processes that keep the run-state protocol of a stream, without Spark.

Started as `spark-submit ... jobs/<stream>.py --feed F`: the outer process plays the JVM, its child the Python driver. The text
of $SUNDIAL_STREAMS/behave decides what they do: nothing special, `crash` at once, `mute` (alive, no heartbeat), `stall` (it
gives heartbeats, but its query does nothing), `swap` (for ever), `linger` (the JVM goes on after its child's end), or `deaf` (it
ignores a request to stop).
"""

import datetime as dt
import os
import subprocess
import sys
import time
from pathlib import Path

from supervision.files import Locked, StreamFolder, locked


def behaviour() -> str:
    file = Path(os.environ["SUNDIAL_STREAMS"]) / "behave"
    return file.read_text() if file.exists() else ""


def jvm() -> int:
    code = subprocess.run([sys.executable, __file__, "--driver", *sys.argv[1:]]).returncode
    time.sleep(30 if behaviour() == "linger" else 0)
    return code


def driver(arguments: list[str]) -> int:
    stream = Path(next(arg for arg in arguments if arg.endswith(".py"))).stem
    feed = arguments[arguments.index("--feed") + 1]
    if behaviour() == "crash":
        print("Traceback: no broker at 127.0.0.1:1", file=sys.stderr)
        return 1
    folder = StreamFolder.of(os.environ["SUNDIAL_STREAMS"], feed, stream)
    try:
        with locked(folder.driver_lock):
            work(folder, feed, stream, arguments)
    except Locked:
        return 75
    return 0


def work(folder: StreamFolder, feed: str, stream: str, arguments: list[str]) -> None:
    behave = behaviour()
    with (folder.path.parent / "starts").open("a") as starts:
        starts.write(f"{os.getpid()} {time.time()}\n")
    folder.write_driver({"pid": os.getpid(), "started_at": now(), "feed": feed, "stream": stream, "spark_application": None})
    print("command line:", *arguments, flush=True)
    health = {"lag_records": 7, "stalled_seconds": 1.6} if behave == "stall" else {"lag_records": 0, "stalled_seconds": 0.0}
    state = "swapping" if behave == "swap" else "running"
    beat = {
        "state": state,
        "health": health,
        "baseline_version": 3,
        "generation": 1,
        "query_started_at": now(),
        "last_error": None,
    }
    parent = os.getppid()
    while os.getppid() == parent and (behave == "deaf" or not folder.stop_requested()):
        if behave != "mute":
            folder.write_heartbeat({"at": now()} | beat)
        time.sleep(0.2)
    error = None if os.getppid() == parent else "ConnectionRefusedError: the JVM is gone"
    folder.write_heartbeat({"at": now()} | beat | {"state": "stopping", "last_error": error})
    folder.clear_stop()


def now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()


if __name__ == "__main__":
    sys.exit(driver(sys.argv[2:]) if sys.argv[1] == "--driver" else jvm())
