"""What the DAGs' Params take of a run's conf, as Airflow checks it before it begins the run."""

import importlib
import os
from collections.abc import Mapping
from typing import Any

from tests.support import airflow_home


def mistakes(dag_id: str, conf: Mapping[str, Any]) -> list[str]:
    """Why Airflow would answer 400; empty: it would not. The feeds of tests are not declared, so their topics are not checked."""
    os.environ.setdefault("AIRFLOW_HOME", airflow_home.make())  # before Airflow is imported
    from airflow.sdk.exceptions import ParamValidationError

    params = importlib.import_module(f"dags.{dag_id.partition('.')[0]}").PARAMS
    found = [f"no such Params: {name}" for name in conf if name not in params]
    for name, param in params.items():
        if name == "topic":
            continue
        try:
            param.resolve(**({"value": conf[name]} if name in conf else {}))
        except ParamValidationError as error:
            found.append(f"{name}: {error}")
    return found
