#!/bin/sh
# What must be there before Airflow and the streams start; changes nothing where it is there already.
set -eu
umask 077
sundial schemas register
# Before the database: on Kubernetes the API server waits for that alone, and makes a password where it finds none.
python -c 'import json, os; print(json.dumps({"admin": os.environ["AIRFLOW_PASSWORD"]}))' >/opt/airflow/auth/passwords.json
airflow db migrate
airflow pools set "$SUNDIAL_SPARK_POOL" "$SPARK_JOBS_AT_ONCE" "Spark jobs at once; streams are not among them"
