"""Starting and stopping the whole stack. Airflow needs nothing of Kafka, so both start at the same time."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from os import environ

from contracts.alerts import load_routes
from contracts.declared_topics import declared_topics
from stack.deploy import schemas, topics
from stack.errors import StackError
from stack.install import java
from stack.instance import SPARK_POOL, Instance
from stack.parts import airflow, alerts, kafka, process, registry, serving, watcher
from stack.parts.airflow_api import AirflowApi
from supervision import spark_jvm
from supervision.process import stop_all

SPARK_TASKS = 2  # each is a JVM of up to 2 GB, and the streams run beside them
Say = Callable[[str], None]


class Starting:
    """A stack that is coming up. `data` ends when events can flow, the rest at its own pace: see `wait`."""

    def __init__(self, instance: Instance, say: Say):
        java.check()
        _check_memory()
        self._watch = partial(self._step, "watcher", watcher.start, instance, say)
        self._pool = ThreadPoolExecutor(3)
        self.data: Future = self._pool.submit(self._data, instance, say)
        self._rest: list[Future] = [
            self._pool.submit(self._step, "Airflow", start_airflow, instance, say),
            self._pool.submit(self._serving, instance, say),
        ]
        self._pool.shutdown(wait=False)

    def _data(self, instance: Instance, say: Say) -> None:
        self._step("Kafka", kafka.start, instance, say)
        self._step("schema registry", registry.start, instance, say)
        deploy(instance, say)

    def _serving(self, instance: Instance, say: Say) -> None:
        if not self.data.exception():
            self._step("serving", serving.start, instance, say)
            if load_routes():
                self._step("alerts", alerts.start, instance, say)
                for what in (alerts.messages(instance) or {}).get("held", []):
                    say(f"alerts: {what}")

    @staticmethod
    def _step(name: str, start: Callable[[Instance], None], instance: Instance, say: Say) -> None:
        start(instance)
        say(f"{name} is up")

    def wait(self) -> None:
        """Wait for all, and have them watched from then on; every failure is reported, not only the first."""
        failures = [failure for future in (self.data, *self._rest) if (failure := future.exception())]
        if len(failures) > 1:
            raise StackError("\n\n".join(map(str, failures))) from failures[0]
        if failures:
            raise failures[0]
        self._watch()


def _check_memory() -> None:
    """Before anything starts: in a stack that runs, each stream and each night would fail."""
    try:
        for kind in spark_jvm.KINDS:
            spark_jvm.memory(environ, kind)
    except ValueError as error:
        raise StackError(str(error)) from error


def start_airflow(instance: Instance) -> None:
    airflow.start(instance)
    AirflowApi(instance).make_pool(SPARK_POOL, SPARK_TASKS, "Spark jobs of Sundial at the same time")


def deploy(instance: Instance, say: Say) -> None:
    """Topics and contracts of all declared feeds and queries."""
    declared = declared_topics()
    changes = topics.deploy(instance.kafka, declared, instance.replication)
    ids = schemas.register(instance.registry, declared)
    changed = f", {len(changes)} changes" if changes else ", nothing to change"
    say(f"deployed {len(declared)} topics: {len(ids)} contracts registered{changed}")


def up(instance: Instance, say: Say) -> None:
    with instance.locked():
        Starting(instance, say).wait()


def up_kafka(instance: Instance, say: Say) -> None:
    """Kafka alone, without a declared topic and without a watcher: what a broker's death does can be tried out."""
    with instance.locked():
        java.check()
        kafka.start(instance)
        say(f"Kafka is up: {instance.kafka}")


def down(instance: Instance, say: Say) -> None:
    """Stop everything: the watcher first, so that it revives no part; then Airflow, so that it revives no stream; Kafka last, so
    that all others can finish writing.
    """
    with instance.locked():
        names, brokers = process.recorded(instance), kafka.names(instance)
        _stop(instance, [name for name in names if name == watcher.NAME], None, say)
        _stop(instance, [name for name in names if name.startswith("airflow")], "Airflow", say)
        for name in stop_all(instance.streams):
            say(f"stream {name} stopped")
        ordered = [watcher.NAME, registry.NAME, *brokers]
        _stop(instance, [name for name in names if not name.startswith("airflow") and name not in ordered], None, say)
        for together in ([registry.NAME], brokers):  # brokers ask each other for leave
            _stop(instance, [name for name in together if name in names], None, say)
        process.kill(process.strays(instance))
        verify_down(instance)


def _stop(instance: Instance, names: list[str], label: str | None, say: Say) -> None:
    with ThreadPoolExecutor(max(1, len(names))) as pool:
        stopped = [
            name for name, ran in zip(names, pool.map(lambda name: process.stop(instance, name), names), strict=True) if ran
        ]
    for name in [label] if label and stopped else stopped:
        say(f"{name} stopped")


def verify_down(instance: Instance) -> None:
    """Raises StackError naming what is left of the stack, if anything is."""
    if left := process.strays(instance):
        raise StackError(f"still running: {', '.join(f'{each.pid} ({each.name()})' for each in left)}", remedy="sundial down")
