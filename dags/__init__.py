"""Airflow's DAGs: wiring only. They know jobs by name, streams by their run-state folder, and import neither Spark nor `jobs`."""
