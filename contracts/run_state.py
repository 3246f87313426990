"""The run-state folder of a stream, `<streams>/<feed>.<stream>/`, as whoever looks at it finds it.

A driver holds a lock on `driver.lock` for its life: that says whether it lives, on every machine that shares the folder, and not
the pid in `driver.json`. `heartbeat.json` is what it tells of itself every second.
"""

import contextlib
import datetime as dt
import fcntl
import json
from dataclasses import dataclass
from pathlib import Path

STALE_SECONDS = 10.0  # without a heartbeat, after which what the last one said is not believed
GIVEN_UP = "given-up"  # there from the time that nothing helped until a driver is well again, or somebody wants it tried at once
TOLD = ("starting", "running", "swapping", "stopping")


@dataclass(frozen=True)
class RunState:
    """One stream at one moment.

    state: what the driver tells (TOLD); or `stopped`: it ended as asked, `dead`: it did not, `stale`: it lives but is silent.
    problem: what is wrong and where to look; None: nothing.
    heartbeat: of the present driver, empty before its first; age: seconds since then.
    """

    folder: Path
    lives: bool
    driver: dict
    heartbeat: dict
    age: float | None
    state: str
    problem: str | None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def pid(self) -> int | None:
        """Of the driver, where one lives."""
        return self.driver.get("pid") if self.lives else None

    @property
    def log(self) -> Path:
        return self.folder / "driver.log"

    @property
    def given_up(self) -> bool:
        """Whether its supervisor has given it up, and tries it now and then only."""
        return (self.folder / GIVEN_UP).exists()


def observe(folder: Path, now: dt.datetime | None = None) -> RunState:
    driver, heartbeat, lives = read(folder / "driver.json"), read(folder / "heartbeat.json"), held(folder / "driver.lock")
    started, beat = instant(driver.get("started_at")), instant(heartbeat.get("at"))
    if started and beat and beat < started:
        heartbeat, beat = {}, None  # the driver before this one wrote it
    age = max(((now or dt.datetime.now(dt.UTC)) - beat).total_seconds(), 0.0) if beat else None
    state, problem = _state(lives, driver, heartbeat, age, f"{folder.name}/driver.log")
    return RunState(folder, lives, driver, heartbeat, age, state, problem)


def observe_all(root: Path, now: dt.datetime | None = None) -> list[RunState]:
    """Every stream that ever ran here, by name; empty where none did."""
    return [observe(folder, now) for folder in sorted(root.glob("*.*")) if folder.is_dir()]


def held(lock: Path) -> bool:
    """Whether a process holds the lock. Looks with a shared lock, which no other look is disturbed by."""
    try:
        file = lock.open()
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def read(file: Path) -> dict:
    """The file's JSON object; empty where it is missing, half written or no object."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(file.read_text())
        return found if isinstance(found, dict) else {}
    return {}


def instant(text: object) -> dt.datetime | None:
    """An ISO 8601 text, in UTC where it names no offset; None where it is none."""
    with contextlib.suppress(TypeError, ValueError):
        found = dt.datetime.fromisoformat(text)
        return found if found.tzinfo else found.replace(tzinfo=dt.UTC)
    return None


def _state(lives: bool, driver: dict, heartbeat: dict, age: float | None, log: str) -> tuple[str, str | None]:
    told = heartbeat.get("state")
    if not lives:
        if told == "stopping" and not heartbeat.get("last_error"):
            return "stopped", None
        return (
            "dead",
            f"driver {driver['pid']} is gone: see {log}" if "pid" in driver else "no readable driver.json: none got that far",
        )
    if age is None:
        return "starting", None
    if age > STALE_SECONDS:
        return "stale", f"driver {driver.get('pid')} lives but has not reported for {age:.0f} s: see {log}"
    if told not in TOLD:
        return "stale", f"heartbeat.json has the unknown state {told!r}"
    return told, None
