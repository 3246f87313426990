"""The dashboard in the navigation of Airflow's UI. Airflow loads this file from its plugins folder; no DAG imports it."""

import os
from typing import Any, ClassVar

from airflow.sdk.plugins_manager import AirflowPlugin

DASHBOARD = os.environ.get("SUNDIAL_API", "").rstrip("/")


class SundialNavigation(AirflowPlugin):
    """A link to SUNDIAL_API, if that is set. It opens a tab, as the dashboard allows no other site to embed it."""

    name = "sundial"
    external_views: ClassVar[list[Any]] = (
        [{"name": "Sundial", "href": f"{DASHBOARD}/", "destination": "nav", "nav_top_level": True}] if DASHBOARD else []
    )
