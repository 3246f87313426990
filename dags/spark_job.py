"""The one place that builds a Spark submit, for batch tasks and for streams.

The master, deploy mode and queue come from the Airflow connection alone (`spark_default`), so the same DAGs run on local[N], a
standalone master, YARN or Kubernetes. Everything else that a session needs is set inside the job.
"""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseOperatorLink
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from contracts.alerts import VARIABLES
from contracts.feeds import load_feed
from dags import lineage
from dags.links import Dashboard, SparkHistory, show
from supervision.files import StreamFolder
from supervision.spark_history import application_in
from supervision.spark_jvm import COMPILE_ALL, java_options, memory
from supervision.task_life import bound_to_this_task, scratch

REPO = Path(__file__).resolve().parent.parent
CONNECTION = "spark_default"
BATCH_CORES = 4
QUERIES_CORES = 2  # of an application of queries; micro-batches of several queries take turns
DEFAULT_POOL = "default_pool"  # of Airflow; for the jobs that start no Spark session
Afterwards = Callable[[dict], None]
ForGood = Callable[[dict], bool]
# Named one by one: what is passed shows in Airflow's "Rendered Templates", so nothing secret may slip in by a prefix. A driver
# inherits the rest of its environment, SUNDIAL_KAFKA_PASSWORD included, from the Airflow process that starts it.
PLATFORM = (
    *("SUNDIAL_KAFKA", "SUNDIAL_REGISTRY", "SUNDIAL_LAKE", "SUNDIAL_STREAMS", "SUNDIAL_JARS"),
    *("SUNDIAL_KAFKA_USER", "SUNDIAL_KAFKA_CA", "SUNDIAL_SPARK_EVENTS"),
    *("SUNDIAL_UNATTENDED_SECONDS", "SUNDIAL_CHECKPOINT_SECONDS"),
)
# The beginnings of names that no driver gets: they hold secrets of Airflow and of alerts.
KEPT_BACK = ("AIRFLOW_", "_AIRFLOW_", VARIABLES, lineage.BEGIN)


def _application(job: str) -> str:
    return str(REPO / "jobs" / f"{job}.py")


def _conf(kind: str, cores: int, options: str = "") -> dict[str, str]:
    """What `spark-submit` must know before a job's session begins. A cluster's machines have the repository at the same path.

    :param kind: BATCH or STREAM, see `spark_jvm.KINDS`.
    :param options: of the driver's JVM, besides those of its kind.
    """
    heap = memory(os.environ, kind)
    jars = os.environ.get("SUNDIAL_JARS", str(REPO / ".jars" / "spark"))
    return {
        "spark.cores.max": str(cores),  # a standalone master would give the first application all it has
        "spark.executorEnv.PYTHONPATH": str(REPO),
        "spark.pyspark.python": sys.executable,
        "spark.driver.memory": heap,
        "spark.executor.memory": heap,
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.defaultJavaOptions": COMPILE_ALL,
        "spark.driver.extraJavaOptions": f"{java_options(os.environ, kind)} {options}".strip(),
        "spark.executor.extraClassPath": f"{jars}/*",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _env() -> dict[str, str]:
    """What the driver needs to find the platform, and our rooms: spark-submit puts only the job's own folder on the path."""
    return {"PYTHONPATH": str(REPO)} | {name: os.environ[name] for name in PLATFORM if name in os.environ}


class SparkJob(lineage.Traced, SparkSubmitOperator):
    """The provider's operator, for our jobs. An argument that renders to nothing is left out, so it can be optional."""

    def __init__(
        self,
        *,
        feed: str | None,
        links: tuple[BaseOperatorLink, ...],
        afterwards: Afterwards | None = None,
        for_good: ForGood | None = None,
        **task,
    ):
        super().__init__(**task)
        self.feed, self.operator_extra_links = feed, (*links, SparkHistory())
        self.afterwards, self.for_good = afterwards, for_good
        self.spark_application: str | None = None

    def execute(self, context):
        self.application_args = [arg for arg in self.application_args or [] if arg]
        self._ti = context["ti"]
        self.env_vars = {**(self.env_vars or {}), **bound_to_this_task()}
        show(self, self._ti)
        try:
            super().execute(context)
        except AirflowException as failed:
            if self.for_good and self.for_good(context):
                raise AirflowFailException(str(failed)) from failed
            raise
        if self.afterwards:
            self.afterwards(context)

    def _get_hook(self):
        """The provider's hook, which passes every line that the driver prints to `_link_application`.

        Both names are private to the provider. In 6.3.4 there is no public way: `submit` takes no callback for the lines, and
        their logger is one of structlog, which takes no filter or handler.
        """
        hook = super()._get_hook()
        process_lines = hook._process_spark_submit_log
        hook._process_spark_submit_log = lambda lines: process_lines(map(self._link_application, lines))
        submit = hook.submit

        def submit_in_an_environment_of_its_own(application: str) -> str | None:
            # The provider gives the driver the whole environment of this process, which is the task's alone.
            before = dict(os.environ)
            for name in before:
                if name.startswith(KEPT_BACK):
                    del os.environ[name]
            try:
                with scratch() as variables:
                    os.environ.update(variables)
                    return submit(application)
            finally:
                for name in os.environ.keys() - before.keys():
                    del os.environ[name]
                os.environ.update(before)

        hook.submit = submit_in_an_environment_of_its_own
        return hook

    def _link_application(self, line: str) -> str:
        """Makes a link, while the job still runs, of the line in which the driver names its Spark application."""
        if application := application_in(line):
            self.spark_application = application
            show(self, self._ti)
        return line


def spark_job(
    job: str, feed: str | None, *options: str, links: tuple[BaseOperatorLink, ...] = (Dashboard(),), **task
) -> SparkJob:
    """A task that runs jobs/<job>.py for a feed, with templated options; its log and its error are the driver's own lines.

    :param feed: None: for none, or for what the options say.
    :param afterwards: called with the context when the job has ended well; may end the task otherwise.
    :param for_good: called with the context when the job has failed; true: another try would change nothing, so there is none.
    """
    return SparkJob(
        task_id=job,
        feed=feed,
        links=links,
        application=_application(job),
        application_args=[*(["--feed", feed] if feed else []), *options],
        name=f"sundial-{job}",
        conn_id=CONNECTION,
        conf=_conf("BATCH", BATCH_CORES),
        env_vars=_env(),
        **{"pool": os.environ.get("SUNDIAL_SPARK_POOL", DEFAULT_POOL)} | task,
    )


def stream_command(stream: str, of: str, conn_id: str = CONNECTION) -> list[str]:
    """The command line that runs a stream's driver as a process of its own, by the same rules as a batch task.

    :param stream: `score` of a feed, or the `queries` of an application.
    """
    if stream == "score":
        # A real-time query keeps a task for each partition, and two queries run while one hands over to the next. That one
        # broadcasts the baseline before its own tasks start.
        job, option, cores = "score", "--feed", 2 * load_feed(of).partitions
    else:
        job, option, cores = "run_queries", "--application", QUERIES_CORES
    # A killed driver leaves its temporary files, native libraries among them: they go at the next launch.
    scratch = StreamFolder.of(os.environ["SUNDIAL_STREAMS"], of, stream).scratch
    hook = SparkSubmitHook(
        conf=_conf("STREAM", cores, f"-Djava.io.tmpdir={scratch}"),
        conn_id=conn_id,
        name=f"sundial-{of}.{stream}",
        application_args=[option, of],
        env_vars=_env(),
    )
    # Private to the provider. In 6.3.4 there is no public way: `submit`, the only public method that builds this command, runs it
    # as a child process and waits for its end, and a stream's driver must outlive the process that starts it.
    command = hook._build_spark_submit_command(_application(job))
    return [_with_cores(part, cores) for part in command]


def _with_cores(part: str, cores: int) -> str:
    """Of a command line. A master on this machine alone gets as many cores as the stream needs, as spark.cores.max is nothing to
    it."""
    return re.sub(r"^local\[(\d+)\]$", lambda found: f"local[{max(int(found[1]), cores)}]", part)


def stream_environment() -> dict[str, str]:
    """The environment for such a process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(KEPT_BACK)}
    return inherited | _env()
