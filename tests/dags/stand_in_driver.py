"""A stand-in for spark-submit and its driver: two processes that keep the run-state contract of a stream, without Spark.

Started as `spark-submit ... jobs/<stream>.py --feed F`: the outer process plays the JVM, its child the Python driver. The text
of $SUNDIAL_STREAMS/behave decides what they do: nothing special, `crash` at once, `mute` (alive, no heartbeat), `stall` (it
beats, but its query does nothing), `swap` (for ever), or `linger` (the JVM goes on after its child's end).
"""

import datetime as dt
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def behaviour() -> str:
    file = Path(os.environ["SUNDIAL_STREAMS"]) / "behave"
    return file.read_text() if file.exists() else ""


def jvm() -> int:
    code = subprocess.run([sys.executable, __file__, "--driver", *sys.argv[1:]]).returncode
    time.sleep(30 if behaviour() == "linger" else 0)
    return code


def write(file: Path, content: dict) -> None:
    file.with_suffix(".new").write_text(json.dumps(content))
    file.with_suffix(".new").replace(file)


def driver(arguments: list[str]) -> int:
    streams = Path(os.environ["SUNDIAL_STREAMS"])
    stream = Path(next(arg for arg in arguments if arg.endswith(".py"))).stem
    feed = arguments[arguments.index("--feed") + 1]
    folder = streams / f"{feed}.{stream}"
    behave = behaviour()
    if behave == "crash":
        print("Traceback: no broker at 127.0.0.1:1", file=sys.stderr)
        return 1
    lock = (folder / "driver.lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 75
    with (streams / "starts").open("a") as starts:
        starts.write(f"{os.getpid()} {time.time()}\n")
    now = dt.datetime.now(dt.UTC).isoformat()
    write(
        folder / "driver.json", {"pid": os.getpid(), "started_at": now, "feed": feed, "stream": stream, "spark_application": None}
    )
    print("command line:", *arguments, flush=True)
    health = {"lag_records": 7, "stalled_seconds": 1.6} if behave == "stall" else {"lag_records": 0, "stalled_seconds": 0.0}
    state = "swapping" if behave == "swap" else "running"
    beat = {"state": state, "health": health, "baseline_version": 3, "batch_id": 0, "query_started_at": now, "last_error": None}
    parent = os.getppid()
    while os.getppid() == parent and not (folder / "stop").exists():
        if behave != "mute":
            write(folder / "heartbeat.json", {"at": dt.datetime.now(dt.UTC).isoformat()} | beat)
        time.sleep(0.2)
    error = None if os.getppid() == parent else "ConnectionRefusedError: the JVM is gone"
    last = beat | {"state": "stopping", "last_error": error}
    write(folder / "heartbeat.json", {"at": dt.datetime.now(dt.UTC).isoformat()} | last)
    (folder / "stop").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(driver(sys.argv[2:]) if sys.argv[1] == "--driver" else jvm())
