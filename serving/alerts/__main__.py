"""`python -m serving.alerts`: notifies people of incidents until it gets SIGTERM. Exits 1 with the reason if it cannot go on."""

import argparse
import logging
import os
import signal
import sys

from confluent_kafka import KafkaException

from contracts.declarations import DeclarationError
from serving.alerts.declared import Declared
from serving.alerts.ledger import LedgerError
from serving.alerts.process import Process
from serving.decoder import RegistryUnavailable
from serving.lake import Lake
from serving.settings import Settings, SettingsError
from serving.tables import Tables

FAILURES = (DeclarationError, SettingsError, LedgerError, KafkaException, RegistryUnavailable)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m serving.alerts", description="Tell people of incidents.")
    parser.add_argument("--host", default="127.0.0.1", help="where /metrics listens (default: %(default)s)")
    parser.add_argument("--port", type=int, help="of /metrics; none: no metrics")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = Settings.from_env()
        declared = Declared(settings.feeds, settings.routes, os.environ)
        client, tables = settings.credentials.client_options(settings.kafka), Tables(Lake(settings.lake))
        process = Process(client, settings.registry, declared, tables, settings.page)
        signal.signal(signal.SIGTERM, lambda *_: process.stop.set())
        if options.port:
            process.metrics.serve(options.host, options.port)
        process.run()
    except FAILURES as error:
        logging.getLogger("serving.alerts").critical("%s", error)
        os._exit(1)  # at once: threads that still send would hold it up
    sys.exit(0)


if __name__ == "__main__":
    main()
