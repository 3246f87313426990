#!/bin/sh
# Creates the declared users, access rules and topics in Kafka. What exists stays unchanged, except passwords.
set -eu
sundial access --deploy
sundial topics --deploy --replication 3 --with-registry
