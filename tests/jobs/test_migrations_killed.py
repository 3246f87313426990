"""The converter of a migration, killed in its work and started again, serves what a recompute of its input gives."""

import io

import fastavro
import pytest

from contracts import avro
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.meters import Meters, first, second
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]

EACH = 100  # readings of a version, under each driver


@pytest.mark.timeout(600 + 120 * KILLS)
def test_meter_readings(broker, start):
    """Old and new producers side by side; of the new ones' readings, every tenth is more than the old version can hold."""
    reader = deployed(broker, "migrations")
    old, new = (Meters(broker, "meter-readings", avro.text("meter_reading", version)) for version in (1, 2))
    expected, unfit = {}, set()

    def work(number: int) -> None:
        for n in range(EACH):
            meter = f"m-{number}-{n}"
            expected[meter] = first(meter, n, "north")
            expected[f"new-{meter}"] = first(f"new-{meter}", n, "south")
        old.send(*(first(f"m-{number}-{n}", n, "north") for n in range(EACH)))
        new.send(*(second(f"new-m-{number}-{n}", n if n % 10 else 2**31, "south") for n in range(EACH)))
        for n in range(0, EACH, 10):
            del expected[f"new-m-{number}-{n}"]
            unfit.add(f"meter-readings-v1|new-m-{number}-{n}".encode())

    work(0)
    last = killed_while(lambda: start("migrations"), work, chance("migrations"))
    version_1 = fastavro.parse_schema(avro.schema("meter_reading", 1))

    def served() -> list[dict]:
        came = [message.value() for message in reader.look() if message.topic() == "meter-readings.v1"]
        return [fastavro.schemaless_reader(io.BytesIO(value[avro.HEADER.size :]), version_1) for value in came]

    until("every reading is served", lambda: {reading["Meter"] for reading in served()} >= expected.keys())
    assert {reading["Meter"]: reading for reading in served()} == expected
    assert all(reading == expected[reading["Meter"]] for reading in served()), "what came twice is the same"
    letters = {message.key() for message in reader.look() if message.topic() == "meter-readings.v1.dead-letter"}
    assert letters == unfit
    assert last.stop() == 0
