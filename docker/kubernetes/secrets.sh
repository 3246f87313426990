#!/bin/sh
# Prints the Secrets of these manifests, and the ConfigMap with Kafka's certificate authority, from the files that docker/secrets.sh
# has created. Prints only what the pods need, so neither the superuser's password nor the authority's key.
#   docker/kubernetes/secrets.sh [FOLDER] | kubectl apply --server-side -f -     FOLDER has .env and .secrets/ca.crt
set -eu
cd "${1:-$(dirname "$0")/../..}"

value() { # NAME: its value in .env, empty where there is none
  sed -n "s/^$1=//p" .env | tail -n 1
}

secret() { # SECRET [KEY=NAME]...: with each key's value from NAME of .env
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: sundial}\ndata:\n' "$1"
  shift
  for pair; do printf '  %s: "%s"\n' "${pair%%=*}" "$(value "${pair#*=}" | tr -d '\n' | base64 | tr -d '\n')"; done
}

files() { # SECRET FILE...: with the content of each file that is there, under its name
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: sundial}\ndata:\n' "$1"
  shift
  for file; do
    if [ -e "$file" ]; then printf '  %s: "%s"\n' "$(basename "$file")" "$(base64 "$file" | tr -d '\n')"; fi
  done
}

if ! [ -r .env ] || ! [ -r .secrets/ca.crt ]; then
  echo "no .env or no .secrets/ca.crt in $(pwd): run docker/secrets.sh" >&2
  exit 1
fi
for name in AIRFLOW_FERNET_KEY AIRFLOW_API_SECRET AIRFLOW_JWT_SECRET AIRFLOW_PASSWORD POSTGRES_PASSWORD \
  KAFKA_BATCH_PASSWORD KAFKA_STREAMS_PASSWORD KAFKA_SERVING_PASSWORD SUNDIAL_SESSION_SECRET; do
  if [ -z "$(value "$name")" ]; then
    echo "$name is not in $(pwd)/.env: run docker/secrets.sh" >&2
    exit 1
  fi
done

secret airflow AIRFLOW__CORE__FERNET_KEY=AIRFLOW_FERNET_KEY AIRFLOW__API__SECRET_KEY=AIRFLOW_API_SECRET \
  AIRFLOW__API_AUTH__JWT_SECRET=AIRFLOW_JWT_SECRET AIRFLOW_DATABASE_PASSWORD=POSTGRES_PASSWORD \
  SUNDIAL_ALERT_WEBHOOK=SUNDIAL_ALERT_WEBHOOK OPENLINEAGE_API_KEY=OPENLINEAGE_API_KEY
secret airflow-login AIRFLOW_PASSWORD=AIRFLOW_PASSWORD
for user in BATCH STREAMS SERVING; do
  secret "kafka-$(echo "$user" | tr '[:upper:]' '[:lower:]')" "SUNDIAL_KAFKA_PASSWORD=KAFKA_${user}_PASSWORD"
done
secret serving-access SUNDIAL_SESSION_SECRET=SUNDIAL_SESSION_SECRET SUNDIAL_AIRFLOW_PASSWORD=AIRFLOW_PASSWORD
files serving-users .secrets/users/users.json .secrets/users/oidc-client-secret
printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kafka-ca, namespace: sundial}\ndata:\n  ca.crt: |\n'
sed 's/^/    /' .secrets/ca.crt
