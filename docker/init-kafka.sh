#!/bin/sh
# Users, rules and topics in Kafka, as declared; changes nothing where they are there already, passwords apart.
set -eu
sundial access --deploy
sundial topics --deploy --replication 3 --with-registry
