"""Applications of declared queries on the stack: started and stopped through Airflow, which keeps them running."""

import time
from collections.abc import Callable

from contracts.queries import load_application, load_queries
from stack.errors import StackError, first_line, tail
from stack.instance import Instance
from stack.parts.airflow_api import AirflowApi
from supervision.files import StreamFolder
from supervision.status import StreamStatus, read_status

START_WITHIN, STOP_WITHIN = 180.0, 120.0
Say = Callable[[str], None]


def state(instance: Instance, application: str) -> StreamStatus:
    return read_status(_folder(instance, application))


def _folder(instance: Instance, application: str) -> StreamFolder:
    return StreamFolder.of(instance.streams, application, "queries")


def start(instance: Instance, application: str, say: Say) -> None:
    """Switch on the application's DAG, and wait until its queries run. One that was given up is tried at once.

    Says why a driver ended when Airflow launches it again. Raises StackError if it is given up, or does not run in time.
    """
    queries = load_application(application)
    api, dag = AirflowApi(instance), _dag(application)
    _folder(instance, application).clear_given_up()
    api.unpause(dag)
    say(f"{dag} is on: Airflow keeps {', '.join(queries)} running")
    began, reported = time.monotonic(), ""

    def look(seen: StreamStatus) -> None:
        nonlocal reported
        new = seen.age is not None and seen.age < time.monotonic() - began
        error = first_line(seen.heartbeat.get("last_error") or "") if new and not seen.alive else ""
        if error and error != reported:
            reported = error
            say(f"its driver has ended, and is launched again: {error}")
        if seen.given_up:
            what = f"{seen.name} was given up, as it ended again and again: {reported or tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=f"correct what it names, then: sundial queries start {application}")

    _await(instance, application, "running", START_WITHIN, f"see {instance.airflow}/dags/{dag}", look)


def stop(instance: Instance, application: str, say: Say) -> None:
    """Switch the application's DAG off and end its run: its queries stop between two batches, and go on from there later."""
    if not _folder(instance, application).path.exists():
        load_application(application)  # never started: it may not even be declared. What runs is stopped whatever is declared now
    api, dag = AirflowApi(instance), _dag(application)
    api.pause(dag)
    api.end_active(dag)
    if state(instance, application).alive:
        say(f"{dag} is off; its driver ends")
        _await(instance, application, "stopped", STOP_WITHIN, f"kill pid {state(instance, application).pid}")


def listed(instance: Instance) -> list[tuple[str, ...]]:
    """(query, application, its state, what it reads, what it writes, how that is delivered) of every declared query."""
    return [
        (
            name,
            query.application,
            state(instance, query.application).state if _folder(instance, query.application).path.exists() else "never started",
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
    instance: Instance,
    application: str,
    wanted: str,
    seconds: float,
    remedy: str,
    look: Callable[[StreamStatus], None] = lambda _: None,
) -> None:
    deadline = time.monotonic() + seconds
    while (seen := state(instance, application)).state != wanted:
        look(seen)
        if time.monotonic() > deadline:
            what = f"{seen.name} is {seen.state} after {seconds:.0f} s; its log ends:\n{tail(seen.log)}"
            raise StackError(what, log=seen.log, remedy=remedy)
        time.sleep(0.3)
