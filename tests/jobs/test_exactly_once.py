"""Queries delivered exactly once, killed at the worst moments and at random ones: each row is there once, and in its order."""

import json
import uuid
from pathlib import Path

import pytest
import yaml

from contracts.declared_topics import query_topics
from contracts.queries import load_queries
from stack.deploy import schemas, topics
from supervision.files import StreamFolder
from tests.jobs.applications import Driver, until
from tests.jobs.kills import KILLS, killed_while
from tests.jobs.rides import Reader, RidesTopic, sample
from tests.support.seed import chance

CHUNK = 20_000 // (KILLS + 1)  # rides
BATCH = CHUNK // 3
VENDORS = (1, 2)
FARES = "SELECT VendorID, to_utc_timestamp(tpep_dropoff_datetime, 'America/New_York') AS At, total_amount AS Amount FROM rides"
TOTALS = """SELECT VendorID, count(*) AS Rides, double(sum(CAST(Amount AS DECIMAL(12, 2)))) AS TotalAmount
            FROM fares GROUP BY VendorID"""


class Ledger:
    """rides → fares, exactly once and once more at least once; fares → totals, exactly once and with state."""

    def __init__(self, broker, folder):
        self.name, self.folder = f"once-{uuid.uuid4().hex[:8]}", folder
        self.queries = folder / "queries"
        self.queries.mkdir()
        rides = {"rides": {"topic": self.name, "record": "taxi_ride", "key": {"column": "Key", "record": "taxi_ride_key"}}}
        self._declare("fares", rides, FARES, "fare", delivery="exactly-once")
        self._declare("again", rides, FARES, "fare")
        fares = {"fares": {"topic": f"{self.name}.fares", "record": "fare"}}
        self._declare("totals", fares, TOTALS, "vendor_total", delivery="exactly-once", mode="update", most_per_batch=50_000)
        declared = query_topics(load_queries(self.queries).values())
        topics.deploy(broker.kafka, declared)
        schemas.register(broker.registry, declared)
        self.source = RidesTopic(broker, self.name)
        self.reader = Reader(broker, *(topic.name for topic in declared))  # of what is committed
        self.sent = 0

    def _declare(self, name: str, inputs: dict, sql: str, record: str, **more) -> None:
        said = {"name": f"{self.name}-{name}", "description": name, "application": self.name, "inputs": inputs, "sql": sql}
        output = {"topic": f"{self.name}.{name}", "record": record, "key": "VendorID", "compacted": False}
        paced = {"trigger": "100 milliseconds", "most_per_batch": BATCH, "outputs": [output]}
        (self.queries / f"{said['name']}.yaml").write_text(yaml.safe_dump(said | paced | more))

    def send(self) -> None:
        """The next rides; each brings in a cent more than the one before."""
        ride = sample()[0]
        self.source.send(
            *(ride | {"VendorID": VENDORS[n % 2], "total_amount": n / 100} for n in range(self.sent, self.sent + CHUNK))
        )
        self.sent += CHUNK

    def driver(self, start, dies: str | None = None) -> Driver:
        return start(self.name, self.queries, dies=dies)

    def last_logged(self, name: str) -> Path:
        """Of the batches that Spark knows to be done."""
        folder = StreamFolder.of(self.folder, self.name, "queries").checkpoint / f"{self.name}-{name}" / "commits"
        return max(folder.glob("[0-9]*"), key=lambda file: int(file.name))

    def last_noted(self, name: str) -> int:
        """Of the batches that were written exactly once."""
        notes = (message for message in self.reader.look() if message.topic() == "sundial.commits")
        return [json.loads(note.value())["batch"] for note in notes if note.key().decode() == f"{self.name}-{name}"][-1]

    def rows(self, name: str, record: str) -> dict[int, list[dict]]:
        """All rows of each vendor in the order of their offsets; a vendor is in one partition."""
        found = {vendor: [] for vendor in VENDORS}
        for row in self.reader.all_of(f"{self.name}.{name}", record):
            found[row["VendorID"]].append(row)
        return found

    def cents(self, name: str) -> dict[int, list[int]]:
        return {vendor: [round(100 * row["Amount"]) for row in rows] for vendor, rows in self.rows(name, "fare").items()}

    def booked(self) -> dict[int, list[int]]:
        """The cents that must be in the ledger."""
        return {vendor: list(range(number, self.sent, len(VENDORS))) for number, vendor in enumerate(VENDORS)}

    def totals(self) -> dict[int, list[tuple[int, int]]]:
        rows = self.rows("totals", "vendor_total")
        return {vendor: [(row["Rides"], round(100 * row["TotalAmount"])) for row in told] for vendor, told in rows.items()}

    def complete(self) -> bool:
        """All has come; whether once is another matter."""
        whole = {vendor: (len(each), sum(each)) for vendor, each in self.booked().items()}
        return (
            {vendor: set(each) for vendor, each in self.cents("again").items()}
            == {vendor: set(each) for vendor, each in self.booked().items()}
            and {vendor: told[-1:] for vendor, told in self.totals().items()} == {v: [total] for v, total in whole.items()}
        )  # fmt: skip

    def once(self) -> None:
        assert self.cents("fares") == self.booked(), "each once, and in the order in which it came"
        for vendor, told in self.totals().items():
            rides = [count for count, _ in told]
            assert rides == sorted(set(rides)), "no total is told twice"
            assert told == [(count, sum(self.booked()[vendor][:count])) for count in rides], "each is that of the first rides"


@pytest.fixture
def ledger(broker, tmp_path):
    return Ledger(broker, tmp_path)


@pytest.mark.kill
@pytest.mark.timeout(900)
def test_each_row_is_there_once_whose_driver_died_between_its_transaction_and_sparks_log(ledger, start):
    """The worst moment for a kill: the batch is written and, for Spark, still to be made."""
    ledger.send()
    dying = ledger.driver(start, dies="after")
    until("it dies after its first commit", dying.has_killed_itself)
    assert dying.open_batches() >= {f"{ledger.name}-fares"}
    until("all of that batch is committed", lambda: sum(map(len, ledger.cents("fares").values())) == BATCH)
    driver = ledger.driver(start)
    until("all rides are booked and counted", ledger.complete)
    assert driver.stop() == 0
    assert driver.checksums() == []
    ledger.once()


@pytest.mark.kill
@pytest.mark.full
@pytest.mark.timeout(900 + 180 * KILLS)
def test_each_row_is_there_once_wherever_its_driver_died(ledger, start):
    def work(_: int) -> None:
        ledger.source.send(b"\x00garbage")  # its schema id is not known: the queries are planned again
        ledger.send()

    ledger.send()
    for moment in ("before", "after"):
        dying = ledger.driver(start, dies=moment)
        until(f"it dies {moment} its first commit", dying.has_killed_itself)
        assert dying.open_batches() >= {f"{ledger.name}-fares"}
    driver = killed_while(lambda: ledger.driver(start), work, chance("exactly once"))
    until("all rides are booked and counted", ledger.complete)
    until("the end of a transaction is not counted as lag", lambda: drained(driver.heartbeat()))
    assert driver.stop() == 0
    ledger.once()

    counted = {name: sum(map(len, ledger.cents(name).values())) for name in ("fares", "again")}
    logged = {name: ledger.last_logged(name) for name in ("fares", "again", "totals")}
    assert {name: ledger.last_noted(name) for name in ("fares", "totals")} == {
        name: int(logged[name].name) for name in ("fares", "totals")
    }
    for file in logged.values():  # as a crash leaves it that comes between a batch's last write and Spark's log
        file.unlink()
    driver = ledger.driver(start)
    until("each has made its last batch again", lambda: all(file.exists() for file in logged.values()))
    until("at least once is twice, then", lambda: sum(map(len, ledger.cents("again").values())) > counted["again"])
    assert driver.stop() == 0
    assert sum(map(len, ledger.cents("fares").values())) == counted["fares"]
    ledger.once()


def drained(heartbeat: dict) -> bool:
    return {query.get("lag_records") for query in heartbeat["queries"].values()} == {0}
