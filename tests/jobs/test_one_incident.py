"""A fault of an hour is one incident, on the topic and in the night's table: through kills, late readings and corrections.

The test injects the fault. So it knows which incident must be there, and takes nothing from the code that finds incidents.
"""

import datetime as dt

import numpy as np
import pytest

from contracts.feeds import load_feed
from jobs import find_incidents
from jobs.backends import tables
from jobs.backends.history_table import merge
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, killed_while
from tests.jobs.readings import ANY_TIME, arrived, produce
from tests.jobs.rides import Reader
from tests.jobs.test_incidents_killed import deployed, read
from tests.jobs.test_killed import killed
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]

FEED = load_feed("service-use")  # a reading every ten seconds
ON_TOPIC = FEED.model_copy(update={"name": "calls-with-a-fault"} | ANY_TIME)  # with topics of its own
STEP, HOUR = dt.timedelta(seconds=FEED.interval_seconds), dt.timedelta(hours=1)
DATE = dt.date(2026, 9, 15)
NEXT, END = DATE + dt.timedelta(days=1), DATE + dt.timedelta(days=2)
MIDNIGHT = dt.datetime.combine(NEXT, dt.time(), FEED.zone).astimezone(dt.UTC)
FAULT = MIDNIGHT - HOUR / 2  # it goes on for an hour, so two nights see a part of it
ID = f"a@{FAULT:%Y-%m-%dT%H:%M:%SZ}"

Reading = tuple[dt.datetime, int]


def readings() -> list[Reading]:
    """Of 26 calm hours; in the fault, the service answers a quarter of its usual requests."""
    many = 26 * HOUR // STEP
    times = [MIDNIGHT - 24 * HOUR + number * STEP for number in range(many)]
    values = np.random.default_rng(5).integers(270, 331, many).tolist()
    return [(at, value // 4 if in_fault(at) else value) for at, value in zip(times, values, strict=True)]


def in_fault(at: dt.datetime) -> bool:
    return FAULT <= at < FAULT + HOUR


READINGS = readings()
LATE = [each for number, each in enumerate(READINGS) if number % 97 == 50 or (in_fault(each[0]) and number % 11 == 5)]
IN_TIME = [each for each in READINGS if each not in LATE]
CORRECTED = [(at, value + 1) for number, (at, value) in enumerate(IN_TIME) if number % 89 == 40]


def arrive(spark, platform, came: list[Reading], later: dt.timedelta = dt.timedelta(0)) -> None:
    """As archiving brings them in. later: the broker takes them so long after their time."""
    rows = arrived(spark, FEED, [("a", at, value, 0, number) for number, (at, value) in enumerate(came)])
    rows = rows.withColumn("KafkaTimestamp", rows.KafkaTimestamp + later)
    merge(spark, tables.history(platform, FEED), rows, {"offsets": {}})


def arguments(run: str, as_of: dt.date) -> list[str]:
    return ["--feed", FEED.name, "--run-id", run, "--as-of", str(as_of)]


def is_one(events: list[dict], over: bool) -> None:
    """The events are those of the fault's incident. over: its end, too, is there."""
    assert {each["Id"] for each in events} == {ID}
    assert {each["Kind"] for each in events} == {"deviation"}
    assert {each["Direction"] for each in events} == {"low"}
    states = [each["State"] for each in events]
    assert (states[0], states.count("opened")) == ("opened", 1)
    assert (states[-1] == "closed", states.count("closed")) == (over, int(over))


def in_table(platform) -> list[dict]:
    table = tables.incidents(platform, FEED)
    return table.dataset(table.version()).to_table().sort_by("At").to_pylist() if table.version() >= 0 else []


@pytest.mark.timeout(900)
def test_the_nights_table_has_one_incident_through_kills_late_readings_and_corrections(spark, run_job, lake_platform, capsys):
    arrive(spark, lake_platform, IN_TIME)
    killed(lake_platform, "find_incidents", "write", "after", *arguments("n1", NEXT))  # between its two tables
    run_job(find_incidents, lake_platform, *arguments("n1", NEXT))
    is_one(in_table(lake_platform), over=False)
    for point in ("before", "during", "after"):
        killed(lake_platform, "find_incidents", "write", point, *arguments("n2", END))
        is_one(in_table(lake_platform), over=point == "after")
    run_job(find_incidents, lake_platform, *arguments("n2", END))
    is_one(in_table(lake_platform), over=True)

    arrive(spark, lake_platform, LATE + CORRECTED, later=3 * HOUR)
    killed(lake_platform, "find_incidents", "write", "after", *arguments("n3", END))
    capsys.readouterr()
    run_job(find_incidents, lake_platform, *arguments("n3", END))
    is_one(in_table(lake_platform), over=True)
    assert f"{DATE} (1 of 2): 8,640 readings" in capsys.readouterr().out, "it has walked through the late readings"


@pytest.mark.timeout(300 + 120 * KILLS)
def test_the_topic_has_one_incident_through_kills_and_late_readings(broker, start, tmp_path):
    queries, reader = deployed(broker, tmp_path, ON_TOPIC, most_per_batch=1000), Reader(broker, ON_TOPIC.incidents_topic)
    begin = next(number for number, (at, _) in enumerate(IN_TIME) if at >= FAULT - HOUR / 4)
    parts = np.array_split(np.arange(begin, len(IN_TIME)), KILLS)  # the drivers die around the fault and in it

    def send(came: list[Reading]) -> None:
        produce(broker, ON_TOPIC, *[("a", at, value) for at, value in came])

    def work(number: int) -> None:
        if number == KILLS:
            send(LATE)
        send([IN_TIME[each] for each in parts[number - 1]])

    send(IN_TIME[:begin])
    driver = killed_while(lambda: start("incidents", queries), work, chance("one incident"))
    until("the incident is over", lambda: "closed" in [each["State"] for each in read(reader, ON_TOPIC)])
    until("the query has got all", lambda: [each["lag_records"] for each in driver.heartbeat()["queries"].values()] == [0])
    assert driver.stop() == 0
    is_one(read(reader, ON_TOPIC), over=True)
