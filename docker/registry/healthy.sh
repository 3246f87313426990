#!/bin/bash
# The Confluent API answers, which it does only once the journal in Kafka has been read.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/$REGISTRY_PORT"
printf 'GET /apis/ccompat/v7/subjects HTTP/1.0\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
