"""`python -m serving.alerts.trial ROUTE`: sends an opening and a closing about no real incident to each target of a route, and
says what the receivers answered. Exits 1 if one has not taken them."""

import argparse
import datetime as dt
import logging
import os
import sys

from contracts.alerts import ROUTES, load_routes
from contracts.declarations import DeclarationError
from serving.alerts import secrets, sending
from serving.alerts.messages import trial
from serving.settings import PAGE


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m serving.alerts.trial", description="Send a test message.")
    parser.add_argument("route")
    try:
        taken = _tried(parser.parse_args().route)
    except DeclarationError as error:
        logging.error("%s", error)
        sys.exit(1)
    sys.exit(0 if taken else 1)


def _tried(name: str) -> bool:
    """Whether each target has taken both messages. Raises DeclarationError."""
    routes = load_routes(ROUTES)
    if name not in routes:
        raise DeclarationError(f"no route {name!r}: one of {', '.join(routes) or 'none: none is declared in schemas/alerts'}")
    only = {name: routes[name]}
    env = secrets.environment(only, os.environ)
    if wrong := secrets.mistakes(only, env):
        raise DeclarationError("\n".join(wrong))
    taken = True
    for field, target in routes[name].targets.items():
        for message in trial(name, field, dt.datetime.now(dt.UTC)):
            outcome = sending.attempt(message, target, env, os.environ.get(PAGE, ""))
            taken = taken and outcome.what == "taken"
            said = {"taken": "taken", "again": "not taken, worth another try", "refused": "refused"}[outcome.what]
            print(f"{field} ({target.kind}), {message.event}: {said}: {outcome.reason}", flush=True)
    return taken


if __name__ == "__main__":
    main()
