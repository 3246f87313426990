"""What a feed needs next, by how far it has come."""

from contracts.feeds import Feed
from serving.fleet_models import FirstBaseline
from serving.overview_models import FeedProgress, NextStep, Step


def next_step(feed: Feed, progress: FeedProgress, *, broken: bool, off: bool, comes: bool | None) -> NextStep:
    """broken: a table can't be read, or the stream fails. off: the stream does not run. comes: whether readings come; None: not
    known."""
    gate = progress.gate
    if broken:
        return _step("repair", "First repair what is named above.")
    if gate is not None and gate.awaits_approval:
        return _step(
            "decide", f"The gate refused candidate v{gate.candidate_version}. See what it found, then approve or reject it."
        )
    if progress.first_baseline is not None:
        return _towards_baseline(feed, progress.first_baseline, progress.archived_dates, off, comes)
    if off:
        return _step(
            "switch_on", "It has a baseline. Switch its stream on to score readings.", f"sundial feeds start {feed.name}"
        )
    if comes is False:
        return _step("produce", f"No readings come. {_producer(feed)}", _sends(feed))
    return _step("none", "Nothing: it is scored.")


def _towards_baseline(feed: Feed, first: FirstBaseline, archived: int | None, off: bool, comes: bool | None) -> NextStep:
    nightly, far = f"nightly_baseline.{feed.name}", f"{first.dates} of {first.needed} dates for a first baseline"
    if not archived and not comes:
        return _load(feed, off)
    if first.dates >= first.needed:
        return _step("build", f"History has {far}. Unpause {nightly} in Airflow, or trigger it: it builds the baseline.")
    if comes is False and not off:
        return _step("produce", f"History has {far}, and no readings come. {_producer(feed)}", _sends(feed))
    words = f"History has {far}. The archive of each night adds one: leave {nightly} unpaused."
    if off:
        words += " Switch its stream on to see readings at once."
    return _step("collect", f"{words} Past readings in a file make it faster.", _bootstrap(feed))


def _load(feed: Feed, off: bool) -> NextStep:
    """Of a feed whose readings nobody has seen."""
    if feed.access_log is not None:
        log = feed.access_log.topic
        application = log.replace(".", "-")
        words = f"No line was counted yet. Start the application {application}, and send the log's lines to the topic {log}."
        return _step("load", words, f"sundial send FILE {log}")
    start = "switch its stream on, " if off else ""
    words = f"No reading yet. Load past readings from a file; without one, {start}start a producer that sends to {feed.topic}."
    return _step("load", f"{words} The archive of each night then adds a date.", _bootstrap(feed))


def _producer(feed: Feed) -> str:
    if feed.access_log is not None:
        return f"See whether lines come to {feed.access_log.topic}, and whether the application that counts them runs."
    return f"See whether its producer runs and sends to {feed.topic}."


def _sends(feed: Feed) -> str | None:
    return None if feed.access_log is not None else f"sundial replay FILE --feed {feed.name}"


def _bootstrap(feed: Feed) -> str | None:
    return None if feed.access_log is not None else f"sundial bootstrap {feed.name} --from FILE"


def _step(kind: Step, text: str, command: str | None = None) -> NextStep:
    return NextStep(kind=kind, text=text, command=command)
