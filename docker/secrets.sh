#!/bin/sh
# Creates the secrets of docker-compose.yml: passwords and keys in .env, a certificate authority and the brokers' certificates in
# .secrets/, and the first user of the dashboard and the API: Prometheus. Existing ones stay. Needs openssl.
#   docker/secrets.sh [FOLDER]     for another folder than the repository
set -eu
umask 077
cd "${1:-$(dirname "$0")/..}"
mkdir -p .secrets
touch .env
chmod 600 .env
chmod 700 .secrets

random() { openssl rand -hex 24; }

quietly() { # COMMAND...: prints its output only if it fails
  said=$("$@" 2>&1) || { echo "$said" >&2; exit 1; }
}

setting() { # NAME VALUE: into .env, unless there is one
  grep -q "^$1=" .env || printf '%s=%s\n' "$1" "$2" >>.env
}

# Containers run as the user who calls this, so only the owner must be able to read the keys. If root calls it, user 10001 gets them.
user=$(id -u) group=$(id -g)
if [ "$user" = 0 ]; then user=10001 group=10001; fi
setting SUNDIAL_UID "$user"
setting SUNDIAL_GID "$group"

setting KAFKA_CLUSTER_ID "$(openssl rand -base64 16 | tr '+/' '-_' | tr -d =)"
for name in ADMIN STREAMS BATCH SERVING SOURCES REGISTRY; do setting "KAFKA_${name}_PASSWORD" "$(random)"; done
setting POSTGRES_PASSWORD "$(random)"
setting AIRFLOW_PASSWORD "$(random)"
setting AIRFLOW_FERNET_KEY "$(openssl rand -base64 32 | tr '+/' '-_')"
setting AIRFLOW_API_SECRET "$(random)"
setting AIRFLOW_JWT_SECRET "$(openssl rand -hex 64)"
setting SPARK_SECRET "$(random)"
setting GRAFANA_PASSWORD "$(random)"
setting SUNDIAL_SESSION_SECRET "$(random)"

cd .secrets
unsigned=
for broker in kafka-1 kafka-2 kafka-3; do
  if [ ! -e "$broker/broker.pem" ]; then unsigned="$unsigned $broker"; fi
done
if [ "$unsigned" = " kafka-1 kafka-2 kafka-3" ] && [ ! -e ca.key ] && [ ! -e ca.crt ]; then
  printf '%s\n' '[req]' distinguished_name=name x509_extensions=authority prompt=no '[name]' 'CN=Sundial CA' \
    '[authority]' basicConstraints=critical,CA:TRUE keyUsage=critical,keyCertSign,cRLSign subjectKeyIdentifier=hash >ca.conf
  quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -config ca.conf -days 3650 -keyout ca.key -out ca.crt
  rm ca.conf
fi
for file in ca.key ca.crt; do
  # Clients refuse certificates of another authority, so a lost one is not replaced while anything of it is left.
  if [ "$unsigned" ] && [ ! -e "$file" ]; then
    echo "no $file in $(pwd), so nothing can sign certificates for:$unsigned" >&2
    echo "copy it back from where you keep it, then run this again; if it is lost, delete ca.key, ca.crt and kafka-* in that folder," \
      "run this again, and restart the brokers and all their clients" >&2
    exit 1
  fi
done
for broker in $unsigned; do
  mkdir -p "$broker"
  quietly openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$broker/key" -out "$broker/request" -subj "/CN=$broker"
  printf 'subjectAltName=DNS:%s,DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' "$broker" >"$broker/extensions"
  quietly openssl x509 -req -in "$broker/request" -CA ca.crt -CAkey ca.key -days 730 \
    -CAcreateserial -extfile "$broker/extensions" -out "$broker/crt"
  cat "$broker/key" "$broker/crt" >"$broker/broker.pem"
  cp ca.crt "$broker/ca.crt"
  rm "$broker/key" "$broker/crt" "$broker/request" "$broker/extensions"
done
chmod 644 ca.crt
if [ ! -e users/users.json ]; then
  mkdir -p users prometheus
  token=sundial_$(openssl rand -hex 32)
  printf %s "$token" >prometheus/token
  printf '[{"name": "prometheus", "role": "viewer", "sha256": "%s", "made_at": "%s"}]\n' \
    "$(printf %s "$token" | openssl dgst -sha256 -r | cut -d ' ' -f 1)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >users/users.json
  chmod 755 prometheus # Prometheus runs as a user of its own; .secrets itself is closed to others
  chmod 644 prometheus/token
fi
if [ "$(id -u)" = 0 ]; then chown -R "$user:$group" kafka-* users; fi
echo "secrets are in $(cd .. && pwd)/.env and .secrets; keep .secrets/ca.key elsewhere: only a new certificate needs it"
