"""Exits with 0 if a URL answers with 200 and, if a component of Airflow is named, the answer says that it is healthy."""

import json
import sys
import urllib.request


def ill(url: str, component: str | None = None) -> str | None:
    """What is wrong, if anything."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - an address of docker-compose.yml
            report = json.load(answer) if component else {}
    except (OSError, ValueError) as error:
        return f"{url}: {error}"
    status = report.get(component, {}).get("status")
    return None if status == "healthy" or not component else f"{component} is {status}"


if __name__ == "__main__":
    sys.exit(ill(*sys.argv[1:]))
