"""Airflow's DAGs: wiring only. They know jobs by name, streams by their run-state folder, and import neither Spark nor `jobs`."""

import sys

# Airflow's Spark operator imports all of OpenLineage for two options that no task here uses. That would add 0.8 s to each DAG
# file that is parsed, and to each task, although lineage is off. Where this import fails, the operator does without.
sys.modules.setdefault("airflow.providers.openlineage.utils.spark", None)  # type: ignore[arg-type]
