#!/bin/sh
# Sends the messages about incidents; takes the options of serving.alerts. The secrets that routes name are in a file.
set -eu
set -a
. /etc/sundial-alerts/alerts.env
set +a
exec python -m serving.alerts "$@"
