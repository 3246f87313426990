"""Starting and stopping the whole stack. Airflow needs nothing of Kafka, so both start at the same time."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from contracts.topics import declared_topics
from stack import airflow, java, kafka, process, registry, schemas, serving, streams, topics
from stack.airflow_api import AirflowApi
from stack.errors import StackError
from stack.home import SPARK_POOL, Home

SPARK_TASKS = 2  # each is a JVM of up to 2 GB, and the streams run beside them
Say = Callable[[str], None]


class Starting:
    """A stack that is coming up. `data` ends when events can flow, the rest at its own pace: see `wait`."""

    def __init__(self, home: Home, say: Say):
        java.check()
        self._pool = ThreadPoolExecutor(3)
        self.data: Future = self._pool.submit(self._data, home, say)
        self._rest: list[Future] = [
            self._pool.submit(self._step, "Airflow", start_airflow, home, say),
            self._pool.submit(self._serving, home, say),
        ]
        self._pool.shutdown(wait=False)

    def _data(self, home: Home, say: Say) -> None:
        self._step("Kafka", kafka.start, home, say)
        self._step("schema registry", registry.start, home, say)
        deploy(home, say)

    def _serving(self, home: Home, say: Say) -> None:
        if not self.data.exception():
            self._step("serving", serving.start, home, say)

    @staticmethod
    def _step(name: str, start: Callable[[Home], None], home: Home, say: Say) -> None:
        start(home)
        say(f"{name} is up")

    def wait(self) -> None:
        """Wait for all; every failure is reported, not only the first."""
        failures = [failure for future in (self.data, *self._rest) if (failure := future.exception())]
        if len(failures) > 1:
            raise StackError("\n\n".join(map(str, failures))) from failures[0]
        if failures:
            raise failures[0]


def start_airflow(home: Home) -> None:
    airflow.start(home)
    AirflowApi(home).make_pool(SPARK_POOL, SPARK_TASKS, "Spark jobs of Sundial at the same time")


def deploy(home: Home, say: Say) -> None:
    """Topics and contracts of all declared feeds and queries."""
    declared = declared_topics()
    changes = topics.deploy(home.kafka, declared, home.replication)
    ids = schemas.register(home.registry, declared)
    said = f", {len(changes)} changes" if changes else ", nothing to change"
    say(f"deployed {len(declared)} topics: {len(ids)} contracts registered{said}")


def up(home: Home, say: Say) -> None:
    with home.locked():
        Starting(home, say).wait()


def up_kafka(home: Home, say: Say) -> None:
    """Kafka alone, without a declared topic."""
    with home.locked():
        java.check()
        kafka.start(home)
        say(f"Kafka is up: {home.kafka}")


def down(home: Home, say: Say) -> None:
    """Stop everything: Airflow first, so that it revives no stream; Kafka last, so that all others can finish writing."""
    with home.locked():
        names, brokers = process.recorded(home), kafka.names(home)
        _stop(home, [name for name in names if name.startswith("airflow")], "Airflow", say)
        for name in streams.stop_all(home):
            say(f"stream {name} stopped")
        last = [registry.NAME, *brokers]
        _stop(home, [name for name in names if not name.startswith("airflow") and name not in last], None, say)
        for together in ([registry.NAME], brokers):  # brokers ask each other for leave
            _stop(home, [name for name in together if name in names], None, say)
        process.kill(process.strays(home))
        verify_down(home)


def _stop(home: Home, names: list[str], label: str | None, say: Say) -> None:
    with ThreadPoolExecutor(max(1, len(names))) as pool:
        stopped = [name for name, ran in zip(names, pool.map(lambda name: process.stop(home, name), names), strict=True) if ran]
    for name in [label] if label and stopped else stopped:
        say(f"{name} stopped")


def verify_down(home: Home) -> None:
    """Raises StackError naming what is left of the stack, if anything is."""
    if left := process.strays(home):
        raise StackError(f"still running: {', '.join(f'{each.pid} ({each.name()})' for each in left)}", remedy="sundial down")
