#!/bin/sh
# Becomes the registry: on the address REGISTRY_BIND, port REGISTRY_PORT, with the brokers and the user of SUNDIAL_KAFKA*.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${REGISTRY_JARS:?folder with the unpacked registry}" "${REGISTRY_RUN:?folder for temporary files}"
exec java -Xmx384m -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError \
  "-Dquarkus.config.locations=$here/application.properties,$here/cluster.properties" \
  "-Dquarkus.http.host=$REGISTRY_BIND" "-Dquarkus.http.port=$REGISTRY_PORT" \
  "-Dapicurio.import.work-dir=$REGISTRY_RUN" "-Dapicurio.storage.snapshot.location=$REGISTRY_RUN" "-Djava.io.tmpdir=$REGISTRY_RUN" \
  -jar "$REGISTRY_JARS"/*/apicurio-registry-app-*-runner.jar
