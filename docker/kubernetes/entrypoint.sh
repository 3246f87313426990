#!/bin/sh
# Spark starts an executor's pod with this script: with the argument `executor`, and variables that its scheduler backend sets.
# Drivers do not need it: they run in client mode, in the pods of scheduler and triggerer.
set -eu

if [ "$*" != executor ]; then
  echo "entrypoint.sh: knows the role 'executor' alone, not '$*'" >&2
  exit 2
fi

missing=
for name in SPARK_HOME SPARK_APPLICATION_ID SPARK_DRIVER_URL SPARK_EXECUTOR_ID SPARK_EXECUTOR_CORES SPARK_EXECUTOR_MEMORY \
  SPARK_EXECUTOR_POD_IP SPARK_EXECUTOR_POD_NAME SPARK_RESOURCE_PROFILE_ID; do
  if [ -z "$(printenv "$name")" ]; then missing="$missing $name"; fi
done
if [ -n "$missing" ]; then
  echo "entrypoint.sh: not set:$missing; the image sets SPARK_HOME, Spark the others" >&2
  exit 2
fi

# The JVM options are numbered from 0. An option may contain blanks, so each stays a separate word.
set --
number=0
while option=$(printenv "SPARK_JAVA_OPT_$number"); do
  set -- "$@" "$option"
  number=$((number + 1))
done

exec java "$@" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --app-id "$SPARK_APPLICATION_ID" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --podName "$SPARK_EXECUTOR_POD_NAME" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID"
