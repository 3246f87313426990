"""Whether serving works, and what to do about what does not."""

import time
from collections.abc import Iterator

from fastapi import APIRouter

from serving import health_models
from serving.dependencies import CurrentState
from serving.long_lived import Standstill
from serving.placement import misplaced
from serving.settings import SERVICES
from serving.state import State

CROWDED = 600.0  # seconds for which a feed with too many services is told of after it last was

# What is left undone while a thread or process stands still, by its name; others are those of tables.
WORK = {
    "live": "Kafka has not been read",
    "backlog": "Readings from before the start of serving have not been read back",
    "lake-watch": "The services of the baselines and the newest promotions have not been read",
    "stream-watch": "The states of the streams have not been read",
    "changed-rows": "The rows of queries that somebody listens to have not been read",
    "long-reads": "No window of more than six hours has been answered",
}

router = APIRouter()


@router.get(
    "/health",
    tags=["state"],
    summary="Whether serving works, and what it reads",
    responses={204: {"description": "Serving answers. Without a login from elsewhere, it says no more."}},
)
def health(state: CurrentState) -> health_models.Health:
    """Always 200 (or 204) while the process answers; `status` and `remedies` say what is missing."""
    live, standstills = state.live.status, _standstills(state)
    lake_answers = "lake-watch" not in {each.name for each in standstills}  # else this answer would wait for the lake, too
    remedies = [
        *_of_threads(standstills),
        *_of_kafka(state),
        *_of_declarations(state),
        *(_of_tables(state) if lake_answers else ()),
        *(_of_histories(state) if lake_answers else ()),
        *_of_services(state),
        *_of_users(state),
    ]
    return health_models.Health(
        status="degraded" if remedies else "ok",
        at=state.now(),
        kafka=health_models.KafkaHealth(
            state=live.broker,
            error=live.broker_error,
            silent_seconds=round(state.live.thread.silent_seconds(), 1),
            as_of=live.as_of,
            caught_up=live.caught_up,
            missing_topics=live.missing_topics,
            records=live.records,
            undecodable=live.undecodable,
            last_undecodable=live.last_undecodable,
        ),
        registry_error=live.registry_error,
        declaration_mistakes=state.declared.mistakes or state.queries.mistakes,
        crowded=[
            health_models.CrowdedFeed(
                feed=feed, evicted_services=each.evicted, turned_away_readings=each.turned_away, example=each.example
            )
            for feed, each in sorted(state.memory.crowding().items())
            if each.example is not None
        ],
        standstills=[health_models.Standstill(**vars(each)) for each in standstills],
        listeners=state.events.listeners,
        remedies=remedies,
    )


def _of_threads(standstills: list[Standstill]) -> Iterator[str]:
    for each in standstills:
        what = WORK.get(each.name) or f"The rows of the topic {each.name.removeprefix('table ')} have not been read"
        who = f"the {'process' if each.name == 'long-reads' else 'thread'} {each.name}"
        if each.died:
            yield f"{what} for {each.seconds:.0f} s: {who} has died. Restart serving; its log says why."
        else:
            yield f"{what} for {each.seconds:.0f} s: {who} stands still. Restart serving; its log may say why."


def _standstills(state: State) -> list[Standstill]:
    """Without a thread that waits for the registry: that has a remedy of its own."""
    waits = state.live.status.registry_error is not None
    return [each for each in state.standstills() if each.died or each.name != "live" or not waits]


def _of_kafka(state: State) -> Iterator[str]:
    live = state.live.status
    if live.broker == "unreachable":
        yield f"Kafka at {state.settings.kafka} does not answer: start the brokers or correct SUNDIAL_KAFKA."
    if live.registry_error:
        yield "The schema registry does not answer: start it or correct SUNDIAL_REGISTRY."
    if live.missing_topics and live.broker == "connected":
        missing = ", ".join(live.missing_topics)
        yield f"Topics do not exist yet, or serving may not read them: {missing}. Deploying the feeds creates them."

    if live.broker == "connected":
        for feed, reason in sorted(state.backlog.unread.items()):
            yield (
                f"Readings of feed {feed} from before the start of serving are not read back: {reason}. Serving tries again "
                "every ten seconds; correct what the reason names."
            )


def _of_declarations(state: State) -> Iterator[str]:
    state.queries.look()
    if state.declared.mistakes:
        mistakes = "; ".join(state.declared.mistakes)
        yield f"Serving keeps the feeds that it read before from {state.declared.folder}. Correct there: {mistakes}."
    elif state.queries.mistakes:  # a feed's mistake is one of the queries, too
        mistakes = "; ".join(state.queries.mistakes)
        yield f"Serving keeps the queries that it read before from {state.queries.folder}. Correct there: {mistakes}."


def _of_tables(state: State) -> Iterator[str]:
    for feed, reason in state.archive.unreadable(state.feeds.values()).items():
        yield f"Tables of feed {feed} can't be read: {reason}. Put their folders in {state.settings.lake} back from a backup."
    summaries = [query for query in state.queries.look().values() if query.transform == "metric_summaries"]
    topics = {read.topic for query in summaries for read in query.inputs.values()}  # of which jobs archive the events
    for topic, reason in state.archive.unreadable_events(sorted(topics)).items():
        yield f"Table events/{topic} can't be read: {reason}. Put its folder in {state.settings.lake} back from a backup."


def _of_histories(state: State) -> Iterator[str]:
    for feed in state.feeds.values():
        if differs := misplaced(state.tables.lake, feed):
            file = state.declared.folder / f"{feed.name}.yaml"
            yield (
                f"The history of feed {feed.name} was made with another interval or time zone: {differs}. "
                f"Take the change back in {file}; until then serving has no expected values of this feed."
            )


def _of_users(state: State) -> Iterator[str]:
    if mistake := state.users.mistake:
        yield f"Nobody can log in: {mistake}. Bring the file back from a copy, or delete it and add the users again."


def _of_services(state: State) -> Iterator[str]:
    most = state.settings.services_per_feed
    for feed, each in sorted(state.memory.crowding().items()):
        if each.example is None or time.monotonic() - each.last > CROWDED:
            continue
        known = f"The baseline in force alone knows {each.in_baseline:,} services. " if each.in_baseline > most else ""
        yield (
            f"Feed {feed} has more services than the {most:,} of which serving keeps readings; "
            f"{each.example[:80]!r}, for example, has none. {known}"
            f"Stop what sends names that are made up, or set {SERVICES} to a higher number and start serving again."
        )
