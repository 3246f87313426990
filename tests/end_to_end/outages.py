"""SIGKILL to parts of the story's stack, and what must hold afterwards."""

import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from stack.instance import MARK
from stack.parts import process, status
from supervision.task_life import VARIABLE
from tests.end_to_end.story import SUPERVISION, Story
from tests.support.waiting import until

PARTS = ["kafka", "registry", "airflow-scheduler", "airflow-triggerer", "airflow-api-server"]


def strike_driver(story: Story) -> None:
    python = psutil.Process(story.stream().pid)
    for each in (python.parent(), python):
        with suppress(psutil.NoSuchProcess):
            each.kill()


def strike(story: Story, *parts: str) -> None:
    """Kills parts. The watcher starts each of them again, and nobody else does."""
    killed = {part: process.find(story.instance, part) for part in parts}
    for each in killed.values():
        each.kill()

    def back() -> bool:
        found = {part: process.find(story.instance, part) for part in killed}
        return all(found[part] not in (None, each) for part, each in killed.items()) and all(
            status.checks(story.instance).values()
        )

    until(f"{', '.join(parts)} are back, and all is healthy", back, 180, lambda: status.rows(story.instance))


def keep_down(story: Story, part: str, seconds: float) -> None:
    """Kills a part, and each that the watcher starts in its place, for so long; then the watcher's next one lives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := process.find(story.instance, part):
            found.kill()
        time.sleep(0.1)
    until(f"{part} is back, and all is healthy", lambda: all(status.checks(story.instance).values()), 180)


def drivers(story: Story, job: str = "score") -> list[psutil.Process]:
    """All Python drivers of a job that the stack has started."""
    found = []
    for each in psutil.process_iter(["cmdline", "environ"]):
        of_stack = (each.info["environ"] or {}).get(MARK) == str(story.instance.path)
        with suppress(psutil.NoSuchProcess):
            if (
                of_stack
                and any(word.endswith(f"jobs/{job}.py") for word in each.info["cmdline"] or [])
                and "python" in each.name()
            ):
                found.append(each)
    return found


def driver_of_task(story: Story, job: str) -> psutil.Process | None:
    """The Python driver of a batch job, once it says to which task it belongs."""
    return next((each for each in drivers(story, job) if VARIABLE in each.environ()), None)


def supervising(story: Story) -> list[str]:
    """The runs that supervise the stream now."""
    runs = story.api.call("GET", f"dags/{SUPERVISION}/dagRuns", params={"state": ["running"]})["dag_runs"]
    return [run["dag_run_id"] for run in runs]


def survives(story: Story, kill: Callable[[], None]) -> None:
    """Something is killed while readings flow; the stream runs in the end, and every reading was judged."""
    before = supervising(story)
    story.while_playing(kill)
    until("the stream", lambda: story.stream().state == "running", 300, story.stream)
    story.all_judged(300)
    assert [each.pid for each in drivers(story)] == [story.stream().pid], "one driver, and no other"
    assert (len(before), supervising(story)) == (1, before), (
        "the one run goes on: nothing failed that a person would have to read"
    )
