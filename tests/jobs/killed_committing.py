"""Runs an application of queries that kills itself, JVM included, at its first transaction's commit:
killed_committing.py before|after [ARGUMENT...].

`before`: all records are at the broker, and the transaction is open. `after`: it is committed, and Spark does not know of it.
"""

import sys

from confluent_kafka import Producer

from jobs import run_queries
from jobs.backends import settings
from jobs.streams import transactions
from tests.jobs.killed import die


class Deadly(Producer):
    def commit_transaction(self, *timeout) -> None:
        assert self.flush(30) == 0
        if MOMENT == "after":
            super().commit_transaction(*timeout)
        die()


if __name__ == "__main__":
    MOMENT = sys.argv.pop(1)
    transactions.Producer = Deadly
    settings.run(run_queries.main)
