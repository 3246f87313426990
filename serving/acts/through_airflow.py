"""Acts as runs of Airflow's DAGs. Airflow says what became of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import httpx

from serving.problems import ProblemError
from supervision.airflow_rest import AirflowError, AirflowRest

State = Literal["queued", "running", "success", "failed"]
USER = "user"  # in a run's conf: who asked for it, by serving


@dataclass(frozen=True)
class Act:
    """A run of a DAG. url: its page in Airflow."""

    dag: str
    run: str
    state: State
    url: str


class ThroughAirflow:
    """airflow: None: nobody has said where Airflow is, so nothing can be changed."""

    def __init__(self, airflow: AirflowRest | None, address: str):
        self._airflow, self._address = airflow, address

    def begin(self, dag: str, conf: Mapping[str, Any], user: str) -> Act:
        """A new run of the DAG. Raises ProblemError where Airflow refuses it or can't be asked."""
        asked = {"logical_date": None, "conf": {**conf, USER: user}, "note": f"{user}, by the API"}
        return self._act(dag, self._asked(lambda to: to.call("POST", f"dags/{quote(dag)}/dagRuns", json=asked)))

    def look(self, dag: str, run: str) -> Act:
        return self._act(dag, self._asked(lambda to: to.call("GET", f"dags/{quote(dag)}/dagRuns/{quote(run)}")))

    def _act(self, dag: str, found: Mapping[str, Any]) -> Act:
        run = found["dag_run_id"]
        return Act(dag, run, found["state"], f"{self._address}/dags/{quote(dag)}/runs/{quote(run)}")

    def _asked(self, request: Callable[[AirflowRest], dict[str, Any]]) -> dict[str, Any]:
        if self._airflow is None:
            remedy = "Set SUNDIAL_AIRFLOW, SUNDIAL_AIRFLOW_USER and SUNDIAL_AIRFLOW_PASSWORD of serving, and restart it."
            raise ProblemError(503, "no-airflow", "Nothing can be changed here", "Serving does not know an Airflow.", remedy)
        try:
            return request(self._airflow)
        except (AirflowError, httpx.TransportError) as error:
            status = error.status if isinstance(error, AirflowError) else None
            if status is None:
                detail = f"Airflow at {self._address} does not answer: {error}"
                raise ProblemError(
                    503, "no-airflow", "Airflow does not answer", detail, "Start Airflow, or try again."
                ) from error
            if status == httpx.codes.NOT_FOUND:
                remedy = "A feed that was declared just now has its DAGs within two minutes."
                raise ProblemError(404, "unknown-act", "Airflow does not know this", str(error), remedy) from error
            raise ProblemError(502, "airflow-refuses", "Airflow refused it", str(error), "See Airflow's log.") from error
