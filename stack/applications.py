"""Applications of declared queries on the stack: started and stopped through Airflow, which keeps them running."""

import time
from collections.abc import Callable

from contracts.queries import load_application, load_queries
from contracts.run_state import GIVEN_UP, RunState, observe
from stack.airflow_api import AirflowApi
from stack.errors import StackError, first_line, tail
from stack.home import Home

START_WITHIN, STOP_WITHIN = 180.0, 120.0
Say = Callable[[str], None]


def state(home: Home, application: str) -> RunState:
    return observe(home.streams / f"{application}.queries")


def start(home: Home, application: str, say: Say) -> None:
    """Switch on the application's DAG, and wait until its queries run. One that was given up is tried at once.

    Tells why a driver has ended that Airflow launches again. Raises StackError once it is given up, or it takes too long.
    """
    queries = load_application(application)
    api, dag = AirflowApi(home), _dag(application)
    (state(home, application).folder / GIVEN_UP).unlink(missing_ok=True)
    api.unpause(dag)
    say(f"{dag} is on: Airflow keeps {', '.join(queries)} running")
    began, told = time.monotonic(), ""

    def look(seen: RunState) -> None:
        nonlocal told
        new = seen.age is not None and seen.age < time.monotonic() - began
        error = first_line(seen.heartbeat.get("last_error") or "") if new and not seen.lives else ""
        if error and error != told:
            told = error
            say(f"its driver has ended, and is launched again: {error}")
        if seen.given_up:
            what = f"{seen.name} was given up, as it ended again and again: {told or tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=f"mend what it names, then: sundial queries start {application}")

    _await(home, application, "running", START_WITHIN, f"see {home.airflow}/dags/{dag}", look)


def stop(home: Home, application: str, say: Say) -> None:
    """Switch the application's DAG off and end its run: its queries stop between two batches, and go on from there later."""
    if not state(home, application).folder.exists():
        load_application(application)  # never started: it may not even be declared. What runs is stopped whatever is declared now
    api, dag = AirflowApi(home), _dag(application)
    api.pause(dag)
    api.end_active(dag)
    if state(home, application).lives:
        say(f"{dag} is off; its driver ends")
        _await(home, application, "stopped", STOP_WITHIN, f"kill pid {state(home, application).pid}")


def listed(home: Home) -> list[tuple[str, ...]]:
    """(query, application, its state, what it reads, what it writes, how that is delivered) of every declared query."""
    return [
        (
            name,
            query.application,
            state(home, query.application).state if (home.streams / f"{query.application}.queries").exists() else "never started",
            ", ".join(sorted({each.topic for each in query.inputs.values()})),
            ", ".join(each.topic for each in query.outputs),
            query.delivery,
        )
        for name, query in load_queries().items()
    ]


def repairs() -> list[str]:
    """The DAGs that count in what came too late for a query."""
    return [f"repair_summaries.{name}" for name, query in load_queries().items() if query.transform == "metric_summaries"]


def _dag(application: str) -> str:
    return f"supervise_queries.{application}"


def _await(
    home: Home,
    application: str,
    wanted: str,
    seconds: float,
    remedy: str,
    look: Callable[[RunState], None] = lambda _: None,
) -> None:
    deadline = time.monotonic() + seconds
    while (seen := state(home, application)).state != wanted:
        look(seen)
        if time.monotonic() > deadline:
            what = f"{seen.name} is {seen.state} after {seconds:.0f} s; its log ends:\n{tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=remedy)
        time.sleep(0.3)
