"""Sundial's link in the navigation of Airflow, as Airflow itself loads it from the plugins folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "dags" / "plugins"
# What the UI asks of the API server, and which modules of Sundial came with it.
ASK = """
import json, sys
from airflow import plugins_manager
found = [each for each in plugins_manager.get_plugin_info() if each["name"] == "sundial"]
print(json.dumps([plugins_manager.get_import_errors(), [each["external_views"] for each in found], "dags" in sys.modules]))
"""


@pytest.mark.parametrize(
    "address",
    [
        "https://sundial.example.org/",
        *(pytest.param(each, marks=pytest.mark.full) for each in ("https://sundial.example.org", "")),
    ],
)
def test_the_navigation_has_a_link_to_the_dashboard_if_its_address_is_known(tmp_path, address):
    airflow = {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__PLUGINS_FOLDER": str(PLUGINS), "SUNDIAL_API": address}
    done = subprocess.run([sys.executable, "-c", ASK], env=os.environ | airflow, capture_output=True, text=True, check=True)
    errors, views, imported = json.loads(done.stdout.splitlines()[-1])
    assert errors == {}
    link = {"name": "Sundial", "href": "https://sundial.example.org/", "destination": "nav", "nav_top_level": True}
    assert views == [[link] if address else []]
    assert not imported, "other teams' tasks in the same Airflow load no module of the DAGs"
