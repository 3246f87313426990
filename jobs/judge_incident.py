"""Judge an incident or readings: one more statement of a person in exclusions/<feed>.

`acknowledge`: somebody looks after the incident. `false`: the incident is a false alarm; its readings are normal. `exclude`: the
readings of an incident, or of a span of time, are not normal: find_incidents.py leaves them out. `note`: the reason is a text
about the incident, and nothing follows from it. `take_back`: an earlier statement no longer counts. Nothing else is changed or
deleted. No Spark session is started.

An incident of today is not in the table incidents/<feed> before the next walk through history: it is looked for in the topic.
"""

import argparse
import datetime as dt
from typing import Any, get_args

import pyarrow.dataset as ds

from contracts.exclusions import Kind, Statement, in_force
from contracts.feeds import Feed
from jobs.backends import exclusions, kafka, settings, tables
from jobs.backends.settings import Platform
from jobs.errors import JobError

SUBJECTS = ("--incident", "--service", "--from", "--to", "--statement")
OF_RANGE = {"--from", "--to"}
# By verdict, the options that it takes: one of these sets.
TAKES = {
    "acknowledge": [{"--incident"}],
    "false": [{"--incident"}],
    "exclude": [{"--incident"}, OF_RANGE, OF_RANGE | {"--service"}],
    "note": [{"--incident"}],
    "take_back": [{"--statement"}],
}
TAKES_IN_WORDS = {
    "acknowledge": "--incident",
    "false": "--incident",
    "exclude": "either --incident, or --from and --to (for one service with --service)",
    "note": "--incident",
    "take_back": "--statement",
}
LONGEST = 60.0  # seconds for reading the incidents' topic
ABOUT = ("kind", "service", "start", "end", "takes_back", "incident")  # what two statements that say the same have in common


def main(platform: Platform) -> None:
    arguments = settings.parser(__doc__)
    settings.add_run_id(arguments)
    arguments.add_argument("--verdict", required=True, choices=get_args(Kind), help="what to say")
    arguments.add_argument("--incident", metavar="ID", help="e.g. www@2026-11-21T12:00:00Z")
    arguments.add_argument("--service", metavar="NAME", help="of the span of time (default: all services)")
    arguments.add_argument("--from", type=settings.instant, metavar="TIME", help="first moment of the span, UTC unless it says")
    arguments.add_argument("--to", type=settings.instant, metavar="TIME", help="its end, excluded")
    arguments.add_argument("--statement", type=settings.positive, metavar="N", help="the one to take back")
    arguments.add_argument("--by", required=True, type=settings.said, help="who says so")
    arguments.add_argument("--reason", required=True, type=settings.said, help="why, or the note; kept with the statement")
    options = arguments.parse_args()
    feed: Feed = options.feed
    table = exclusions.table_of(platform, feed)
    version = table.version()
    log = exclusions.read(table, version)
    if known := next((each for each in log if each.run_id == options.run_id), None):
        print(f"exclusions/{feed.table}: run {options.run_id} has written statement {known.id} already", flush=True)
        return
    statement = Statement(
        id=1 + max((each.id for each in log), default=0),
        kind=options.verdict,
        **_about(platform, feed, options, log),
        by=options.by,
        reason=options.reason,
        at=dt.datetime.now(dt.UTC),
        run_id=options.run_id,
    )
    _refuse_repetition(log, statement)
    words = _in_words(platform, feed, statement)
    exclusions.add(table, statement, version)
    print(f"exclusions/{feed.table}: statement {statement.id} is in force: {words}", flush=True)


def _about(platform: Platform, feed: Feed, options: argparse.Namespace, log: list[Statement]) -> dict[str, Any]:
    """The fields that say what the statement is about. Raises JobError if the options fit neither each other nor the tables."""
    values = {name: getattr(options, name.removeprefix("--")) for name in SUBJECTS}
    given = {name for name, value in values.items() if value is not None}
    if given not in TAKES[options.verdict]:
        found = ", ".join(name for name in SUBJECTS if name in given) or "none of these"
        raise JobError(f"--verdict {options.verdict} takes {TAKES_IN_WORDS[options.verdict]}; given: {found}")
    nothing = dict.fromkeys(ABOUT[1:])
    if options.verdict == "take_back":
        return nothing | {"takes_back": _to_take_back(feed, options.statement, log)}
    if options.incident is not None:
        return nothing | _of_incident(platform, feed, options.incident, options.verdict)
    start, end = values["--from"], options.to
    if start >= end:
        raise JobError(f"--from {start.isoformat()} is not before --to {end.isoformat()}")
    if end > dt.datetime.now(dt.UTC):
        raise JobError(f"--to {end.isoformat()} is in the future; only what has been can be excluded")
    if options.service is not None and not 0 < len(options.service.encode()) <= feed.longest_service:
        raise JobError(f"--service: a name of {feed.name} has 1 to {feed.longest_service} bytes")
    return nothing | {"service": options.service, "start": start.astimezone(dt.UTC), "end": end.astimezone(dt.UTC)}


def _of_incident(platform: Platform, feed: Feed, id_: str, verdict: Kind) -> dict[str, Any]:
    table = tables.incidents(platform, feed)
    rows = table.dataset(table.version()).to_table(filter=ds.field("Id") == id_).to_pylist() if table.version() >= 0 else []
    if not rows:
        return _of_today(platform, feed, id_, verdict)
    newest = max(rows, key=lambda row: row["At"])
    if verdict == "exclude" and newest["Kind"] == "silence":
        raise JobError(f"--incident {id_} is a silence: there are no readings to exclude")
    if verdict == "exclude" and newest["Kind"] == "group":
        raise JobError(f"--incident {id_} is a group: exclude its members one by one, or give --from and --to for all services")
    if verdict == "exclude" and newest["End"] is None:
        raise JobError(f"--incident {id_} is still open, so it has no end; give --service, --from and --to instead")
    start, end = (ms and dt.datetime.fromtimestamp(ms / 1000, dt.UTC) for ms in (newest["Start"], newest["End"]))
    return {"incident": id_, "service": newest["ServiceName"], "start": start, "end": end}


def _of_today(platform: Platform, feed: Feed, id_: str, verdict: Kind) -> dict[str, Any]:
    """What the id of an incident says, if the topic has a record of it. Its end, which an exclusion needs, it does not say."""
    if kafka.last_value(platform, feed.incidents_topic, id_.encode(), "sundial-archive", LONGEST) is None:
        raise JobError(
            f"--incident {id_}: neither incidents/{feed.table} nor the topic {feed.incidents_topic} has it;"
            f" `sundial incidents list {feed.name}` and the page show those there are"
        )
    if verdict == "exclude":
        raise JobError(f"--incident {id_} is not in incidents/{feed.table} yet; give --service, --from and --to instead")
    service, _, start = id_.rpartition("@")
    return {"incident": id_, "service": service, "start": dt.datetime.fromisoformat(start)}


def _to_take_back(feed: Feed, number: int, log: list[Statement]) -> int:
    valid = [each.id for each in in_force(log)]
    if number not in valid:
        choice = ", ".join(map(str, valid)) or "none"
        raise JobError(f"--statement {number}: of exclusions/{feed.table}, one that is in force can be taken back: {choice}")
    return number


def _refuse_repetition(log: list[Statement], statement: Statement) -> None:
    alike = (*ABOUT, "reason") if statement.kind == "note" else ABOUT
    for each in in_force(log):
        if all(getattr(each, field) == getattr(statement, field) for field in alike):
            raise JobError(
                f"statement {each.id} of {each.by} says that already, since {each.at:%Y-%m-%d %H:%M} UTC: {each.reason}"
            )


def _in_words(platform: Platform, feed: Feed, said: Statement) -> str:
    if said.kind == "take_back":
        return f"statement {said.takes_back} no longer counts"
    if said.kind == "acknowledge":
        return f"{said.by} looks after {said.incident}"
    if said.kind == "false":
        return f"{said.incident} was a false alarm"
    if said.kind == "note":
        return f"a note about {said.incident}"
    assert said.start
    assert said.end
    span = f"{said.service or 'all services'}, {said.start.isoformat()} to {said.end.isoformat()}"
    return f"not normal: {span}; history/{feed.table} has {_readings(platform, feed, said):,} of these readings"


def _readings(platform: Platform, feed: Feed, said: Statement) -> int:
    """How many readings of history the exclusion touches by now."""
    table = tables.history(platform, feed)
    if table.version() < 0:
        return 0
    first, last = (each.astimezone(feed.zone).date() for each in (said.start, said.end) if each)
    which = (ds.field("Date") >= first) & (ds.field("Date") <= last)  # other dates' files are not opened
    which &= (ds.field("Timestamp") >= said.start) & (ds.field("Timestamp") < said.end)
    which &= ds.field("ServiceName") == said.service if said.service is not None else ds.scalar(True)
    return table.dataset(table.version()).count_rows(filter=which)


if __name__ == "__main__":
    settings.run(main)
