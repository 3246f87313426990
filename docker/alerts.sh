#!/bin/sh
# Sends the messages of alerts. The secrets that routes name are in a file.
set -eu
set -a
. /etc/sundial-alerts/alerts.env
set +a
exec python -m serving.alerts --host 0.0.0.0 --port 8001
