"""What operators change through serving: each act is a run of a DAG, so that Airflow has it, too."""
