"""The feeds of a run: from its Param `feeds`, else from the installation's Variable `sundial_feeds`, else service-use."""

from airflow.sdk import Param, Variable, task
from airflow.sdk.exceptions import AirflowFailException

from contracts.feeds import load_feeds

VARIABLE = "sundial_feeds"
DEFAULT = ["service-use"]
DECLARED = sorted(load_feeds())

FEEDS = Param(
    None,
    type=["array", "null"],
    items={"type": "string", "enum": DECLARED},
    uniqueItems=True,
    examples=DECLARED,
    title="Feeds",
    description=f"Declared feeds to work on. Empty: those of the Variable `{VARIABLE}` (a JSON list), by default {DEFAULT}.",
)


def chosen(wanted: list[str] | None, installed: list[str] | None) -> list[str]:
    """The feeds to work on, in order. Raises ValueError with those that no file declares."""
    feeds = wanted or installed or DEFAULT
    if not isinstance(feeds, list) or not all(isinstance(feed, str) for feed in feeds):
        raise ValueError(f"Variable {VARIABLE} must be a JSON list of feed names, is {feeds!r}")
    unknown = [feed for feed in feeds if feed not in DECLARED]
    if unknown:
        raise ValueError(f"no feed {', '.join(unknown)}: schemas/feeds/ declares {', '.join(DECLARED)}")
    return list(dict.fromkeys(feeds))


@task(task_id="feeds")
def feeds_to_run(params: dict) -> list[str]:
    """The feeds; each gets a mapped task or chain of tasks."""
    try:
        return chosen(params["feeds"], Variable.get(VARIABLE, default=None, deserialize_json=True))
    except ValueError as error:
        raise AirflowFailException(str(error)) from error
