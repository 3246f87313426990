#!/bin/sh
# Creates what Airflow and the streams need before they start. What exists already stays unchanged.
set -eu
umask 077
sundial schemas register
# Before the database: on Kubernetes the API server waits for the database only, and generates a password if there is none.
python -c 'import json, os; print(json.dumps({"admin": os.environ["AIRFLOW_PASSWORD"]}))' >/opt/airflow/auth/passwords.json
airflow db migrate
airflow pools set "$SUNDIAL_SPARK_POOL" "$SPARK_JOBS_AT_ONCE" "Spark jobs at once; streams are not among them"
