"""`sundial run`: from nothing to the first anomaly, on real parts. Every step can be repeated and finds what is there."""

import datetime as dt
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from contracts import incident_queries
from contracts.feeds import Feed, load_feed
from stack import demo
from stack.errors import StackError, tail
from stack.instance import Instance
from stack.parts import airflow, live, process, samples, status
from stack.parts.airflow_api import AirflowApi
from stack.parts.dag_run import watch
from stack.parts.lifecycle import Say, Starting
from stack.parts.samples import SAMPLES
from stack.parts.streams import Stream
from supervision import machine

STREAM: Literal["score"] = "score"
SHOWN = 3  # anomalies
INCIDENTS = Stream(incident_queries.NAME, "queries")
NIGHTLY_TIMEOUT = 900.0
WALK_TIMEOUT = 1800.0
STREAM_TIMEOUT = 180.0  # on a machine that is free
ANOMALY_TIMEOUT = 120.0
STEPS = 8


def run(instance: Instance, say: Say) -> None:
    """The whole main job. Raises StackError naming the step that failed, its log and a remedy."""
    feed = load_feed(live.FEED)
    with instance.locked():
        step(say, 1, "start Kafka and the schema registry, deploy topics and contracts (Airflow boots meanwhile)")
        starting = Starting(instance, say)
        starting.data.result()
        others = {sample: load_feed(sample.feed) for sample in SAMPLES}
        topics = ", ".join(other.topic for other in others.values())
        what = f"load {demo.HISTORY_DAYS} days of {live.SERVICES} simulated services into {feed.topic}"
        step(say, 2, f"{what}, and {samples.WEEKS} weeks of samples, moved to the present, into {topics}")
        count = demo.load_history(instance, feed) + sum(samples.load_history(instance, sample) for sample in SAMPLES)
        say(f"{count:,} readings" if count else "the history is there already")
        seen = ends(instance, feed.anomalies_topic)
        step(say, 3, "start live readings; something goes wrong with checkout at once")
        live.start(instance)
        since = dt.datetime.now(dt.UTC)
        step(say, 4, "wait for Airflow and serving")
        starting.wait()
    api = AirflowApi(instance)
    nightly = f"nightly_baseline.{feed.name}"
    step(say, 5, f"{nightly}, run by Airflow: archive, build, check, promote (the scoring stream starts meanwhile)")
    api.unpause(Stream(feed.name, STREAM).dag)
    if promoted := promoted_today(instance, feed):
        api.unpause(nightly)
        say(f"a baseline was promoted at {promoted:%H:%M:%S} UTC; trigger the DAG in Airflow for a new one")
    else:
        watch(api, nightly, api.start(nightly), say, NIGHTLY_TIMEOUT)
    step(say, 6, f"{Stream(feed.name, STREAM).dag}: Airflow keeps the scoring stream running; it takes up the promoted baseline")
    say(f"baseline version {await_stream(instance, feed)} is in force")
    step(say, 7, f"wait for anomalies in {feed.anomalies_topic}")
    for anomaly in anomalies(instance, feed, seen, since):
        say(f"  {describe(anomaly)}")
    step(say, 8, "the other feeds: their baselines, and then the last day of their samples, scored by these")
    say(f"look around meanwhile: {instance.api}")
    walks = start_walks(instance, api, [feed])
    start_others(instance, api, list(others.values()), say)
    walks |= start_walks(instance, api, list(others.values()))
    for sample, other in others.items():
        samples.start(instance, sample)
        await_scored(instance, other)
        say(f"{other.name} is scored")
    await_walks(api, walks, say)
    api.unpause(INCIDENTS.dag)


def start_others(instance: Instance, api: AirflowApi, feeds: list[Feed], say: Say) -> None:
    """Streams that run, each with a baseline. A feed whose baseline fails goes on without one: the others are worth a look."""
    nights = {}
    for feed in feeds:
        api.unpause(Stream(feed.name, STREAM).dag)
        nights[feed.name] = None if promoted_today(instance, feed) else api.start(f"nightly_baseline.{feed.name}")
    for feed in feeds:
        least = 0
        try:
            if night := nights[feed.name]:
                watch(api, f"nightly_baseline.{feed.name}", night, partial(_of_feed, say, feed.name), NIGHTLY_TIMEOUT)
            else:
                api.unpause(f"nightly_baseline.{feed.name}")
        except StackError as error:
            least = -1
            say(f"{feed.name} has no baseline yet: {error}")
        await_stream(instance, feed, least)


def start_walks(instance: Instance, api: AirflowApi, feeds: list[Feed]) -> dict[str, str]:
    """The runs that find the incidents of the past, by feed. None if the query has begun already: it goes on where it was."""
    if INCIDENTS.state(instance) != "never started":
        return {}
    return {feed.name: api.start(f"find_incidents.{feed.name}") for feed in feeds}


def await_walks(api: AirflowApi, runs: Mapping[str, str], say: Say) -> None:
    """The query of incidents begins with what was known at the last midnight. Without that, it would walk through weeks of
    readings by itself before it comes to those of now."""
    if runs:
        say("the incidents of the past weeks are being found; then a query goes on with those of today")
    for feed, run in runs.items():
        try:
            watch(api, f"find_incidents.{feed}", run, partial(_of_feed, say, feed), WALK_TIMEOUT)
        except StackError as error:
            say(f"{feed} has no incidents of the past: {error}")


def _of_feed(say: Say, feed: str, text: str) -> None:
    say(f"  {feed} {text.strip()}")


def step(say: Say, number: int, what: str) -> None:
    say(f"step {number}/{STEPS} {what}")


def promoted_today(instance: Instance, feed: Feed) -> dt.datetime | None:
    """When the baseline in force was promoted, if that was today where the feed lives."""
    at = status.baselines(instance).get(feed.table, {}).get("promotion", {}).get("at")
    promoted = dt.datetime.fromisoformat(at) if at else None
    return promoted if promoted and promoted.astimezone(feed.zone).date() == dt.datetime.now(feed.zone).date() else None


def await_stream(instance: Instance, feed: Feed, least: int = 0) -> int:
    """Wait until the stream runs and has a baseline of at least that version, -1 being none; the baseline's version."""
    supervised, began = Stream(feed.name, STREAM), time.monotonic()
    while True:
        stream = supervised.status(instance)
        version = stream.heartbeat.get("baseline_version", -1)
        if stream.state == "running" and version >= least:
            return version
        if (waited := time.monotonic() - began) > STREAM_TIMEOUT * machine.slowness():
            what = f"stream {stream.name} is {stream.state} after {waited:.0f} s, baseline {version}; its log ends:\n"
            raise StackError(what + tail(stream.log), log=stream.log, remedy=f"see {instance.airflow}/dags/{supervised.dag}")
        airflow.require_started(instance)
        time.sleep(0.3)


def await_scored(instance: Instance, feed: Feed) -> None:
    """Wait until the feed's stream has written a scored row."""
    began = time.monotonic()
    while not sum(partition.offset for partition in ends(instance, feed.scored_topic)):
        if (waited := time.monotonic() - began) > STREAM_TIMEOUT * machine.slowness():
            log = Stream(feed.name, STREAM).folder(instance).log
            remedy = f"does the stream run? sundial status; does its sample? sundial logs live.{feed.name}"
            raise StackError(f"no scored row in {feed.scored_topic} after {waited:.0f} s", log=log, remedy=remedy)
        airflow.require_started(instance)
        time.sleep(0.3)


def consumer(instance: Instance) -> Consumer:
    settings = {"bootstrap.servers": instance.kafka, "group.id": "sundial-run", "enable.auto.commit": False}
    return Consumer({**settings, "fetch.queue.backoff.ms": 5, "isolation.level": "read_committed"})


def ends(instance: Instance, topic: str) -> list[TopicPartition]:
    """Where each partition of a topic ends now."""
    reader = consumer(instance)
    try:
        numbers = reader.list_topics(topic, timeout=10).topics[topic].partitions
        marks = {number: reader.get_watermark_offsets(TopicPartition(topic, number), timeout=10) for number in numbers}
        return [TopicPartition(topic, number, high) for number, (_, high) in marks.items()]
    finally:
        reader.close()


def anomalies(instance: Instance, feed: Feed, seen: list[TopicPartition], since: dt.datetime) -> Iterator[dict]:
    """The first anomalies after the offsets seen, of readings since then: a restarted stream scores older ones again."""
    decode = AvroDeserializer(SchemaRegistryClient({"url": instance.registry}))
    context = SerializationContext(feed.anomalies_topic, MessageField.VALUE)
    reader, deadline, found = consumer(instance), time.monotonic() + ANOMALY_TIMEOUT, 0
    try:
        reader.assign(seen)
        while found < SHOWN:
            message = reader.poll(1.0)
            anomaly = decode(message.value(), context) if message is not None and not message.error() else None
            if anomaly and anomaly["Timestamp"] >= since:
                found += 1
                yield anomaly
            elif found and not anomaly:  # those that came together; the next are an interval away
                return
            elif not process.find(instance, live.NAME):
                raise StackError("the live readings have ended", log=process.log_file(instance, live.NAME), remedy="see the log")
            elif time.monotonic() > deadline:
                log = Stream(feed.name, STREAM).folder(instance).log
                what = f"no anomaly in {feed.anomalies_topic} within {ANOMALY_TIMEOUT:.0f} s"
                raise StackError(
                    what, log=log, remedy="are there live readings? sundial logs live; does the stream run? sundial status"
                )
    finally:
        reader.close()


def describe(anomaly: dict) -> str:
    at = f"{anomaly['Timestamp']:%H:%M:%S}"
    return f"{at} UTC {anomaly['ServiceName']}: {anomaly['Value']} where {anomaly['Expected']:.0f} is usual"


def farewell(instance: Instance, terminal: bool) -> str:
    """What a person can do next. terminal: whether it goes to one; elsewhere others may read it, so it has no password."""
    password = instance.secrets["password"] if terminal else f"in {instance.path / 'secrets.json'}"
    return f"""
[bold]Dashboard[/bold]  {instance.api}
[bold]API[/bold]        {instance.api}/openapi.json
[bold]Airflow[/bold]    {instance.airflow}   user {airflow.USER}, password {password}

Four things to try:
  1. watch checkout on the dashboard: a surge now, an outage of search in some minutes
  2. kill the stream's driver ("sundial status" shows its pid) and see Airflow bring it back
  3. judge an incident or roll back on the dashboard: sundial users add NAME --role operator, then log in with its token
  4. point it at readings of your own: sundial new feed NAME --from FILE, see README

Stop it: make stop (its data stays)    See it: make status"""
