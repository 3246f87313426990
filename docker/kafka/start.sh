#!/bin/sh
# Formats the broker's folder if it is new, then runs the broker. The superuser's password is written into the new folder
# and is not needed after that; it is never on a command line.
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
: "${KAFKA_JARS:?folder of the broker's jars}" "${KAFKA_DATA:?folder of its data}" "${KAFKA_RUN:?folder for what is made at each start}"
settings=$KAFKA_RUN/server.properties
cat "$here/server.properties" "$here/cluster.properties" >"$settings"

if [ ! -e "$KAFKA_DATA/meta.properties" ]; then
  : "${KAFKA_CLUSTER_ID:?the same for all brokers}" "${KAFKA_ADMIN_PASSWORD:?the same for all brokers}"
  format=$KAFKA_RUN/format said=$KAFKA_RUN/said
  printf '%s\n' format "--cluster-id=$KAFKA_CLUSTER_ID" --config "$settings" \
    --add-scram "SCRAM-SHA-512=[name=admin,iterations=8192,password=$KAFKA_ADMIN_PASSWORD]" >"$format"
  # Its output has the password's hash in it.
  java -Xmx128m "-Dlog4j2.configurationFile=$here/log4j2.properties" -cp "$KAFKA_JARS/*" \
    kafka.tools.StorageTool "@$format" >"$said" 2>&1 || { grep -v '^Bootstrap metadata' "$said" >&2; exit 1; }
  rm "$format" "$said"
fi

unset KAFKA_ADMIN_PASSWORD
exec java "-Xms${KAFKA_HEAP:-512m}" "-Xmx${KAFKA_HEAP:-512m}" -XX:+ExitOnOutOfMemoryError \
  "-Dlog4j2.configurationFile=$here/log4j2.properties" -cp "$KAFKA_JARS/*" kafka.Kafka "$settings"
