"""Links beside a task in Airflow's UI, to the pages that show its results."""

import os
from urllib.parse import quote, urlencode

from airflow.sdk import BaseOperatorLink

from supervision import spark_history


class Dashboard(BaseOperatorLink):
    """Sundial's page for the task's feed. The operator needs an attribute `feed`: a feed's name, or None for no feed."""

    name = "Dashboard"

    def get_link(self, operator, *, ti_key) -> str:
        return dashboard(operator.feed) if _serving() else ""


class GateReport(BaseOperatorLink):
    """The Data Docs of the gate in the task's run."""

    name = "Gate report"

    def get_link(self, operator, *, ti_key) -> str:
        return gate_report(operator.feed, ti_key.run_id) if _serving() else ""


class SparkHistory(BaseOperatorLink):
    """The job's pages at Spark's history server, where there is one. The operator's attribute `spark_application` is the id."""

    name = "Spark"

    def get_link(self, operator, *, ti_key) -> str:
        return spark_history.page(os.environ.get(spark_history.HISTORY, ""), operator.spark_application) or ""


def show(operator, ti) -> None:
    """Airflow creates a task's links when it ends; this creates them now."""
    for link in operator.operator_extra_links:
        if address := link.get_link(operator, ti_key=ti):
            ti.xcom_push(key=link.xcom_key, value=address)


def dashboard(feed: str | None, **choice: str) -> str:
    """The page's address for a feed; `service` and `at` (an instant, ISO 8601) choose what its chart shows."""
    return f"{_serving()}/?{urlencode({'feed': feed, **choice})}" if feed else f"{_serving()}/"


def candidate(feed: str, version: int) -> str:
    """What a candidate changes, on the page of baselines."""
    return f"{_serving()}/baselines?{urlencode({'feed': feed, 'candidate': version})}"


def gate_report(feed: str, run_id: str) -> str:
    return f"{_serving()}/gate/{quote(feed)}/{quote(run_id, safe='')}/"


def _serving() -> str:
    return os.environ.get("SUNDIAL_API", "")
