"""Check queries: have Spark analyze each declared query. Prints each mistake with its file and field, one a line.

It needs no broker, no registry and no table. `sundial check --queries` runs it.
"""

import argparse
from dataclasses import replace

from contracts.queries import load_queries
from jobs.backends import settings, spark
from jobs.backends.settings import Platform
from jobs.formats import query_mistakes


def main(platform: Platform) -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    settings.add_queries(arguments)
    options = arguments.parse_args()
    session = spark.session("check queries", replace(platform, events=""), **{"spark.ui.enabled": "false"})
    for query in load_queries(options.queries).values():
        for mistake in query_mistakes.mistakes(session.newSession(), query):
            print(f"{query.name}.yaml: {mistake}", flush=True)


if __name__ == "__main__":
    settings.run(main)
