"""Links beside a task in Airflow's UI: where what it worked on is seen."""

import os
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink


class Dashboard(BaseOperatorLink):
    """Sundial's page, at the task's feed. Give the operator an attribute `feed`, a feed's name."""

    name = "Dashboard"

    def get_link(self, operator, *, ti_key) -> str:
        return f"{_serving()}/?feed={quote(operator.feed)}"


class GateReport(BaseOperatorLink):
    """The Data Docs of the gate in the task's run."""

    name = "Gate report"

    def get_link(self, operator, *, ti_key) -> str:
        return gate_report(operator.feed, ti_key.run_id)


def gate_report(feed: str, run_id: str) -> str:
    return f"{_serving()}/gate/{quote(feed)}/{quote(run_id, safe='')}/"


def _serving() -> str:
    return os.environ.get("SUNDIAL_API", "")
