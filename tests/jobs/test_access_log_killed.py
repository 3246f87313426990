"""An access log's lines on a real broker become readings of its feeds; killed in the middle, they are those of a recount."""

import gzip
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from confluent_kafka import Producer

from contracts.declarations import SCHEMAS
from contracts.queries import load_queries
from tests.jobs.applications import until
from tests.jobs.kills import KILLS, deployed, killed_while
from tests.jobs.rides import Reader
from tests.support.seed import chance

pytestmark = [pytest.mark.kill, pytest.mark.full]

SAMPLE = SCHEMAS.parent / "samples" / "nasa_access_log_1995-08-01.log.gz"
DECLARED = load_queries()["access-log"]
FEEDS = DECLARED.parameters["feeds"]
LINES = 80 * (KILLS + 1)
INTERVAL = timedelta(seconds=10)
GARBAGE = [b"no line at all", b"\xff\xfe", b'1.2.3.4 - - [99/Aug/1995:00:01:00 -0400] "GET / HTTP/1.0" 200 1']
EARLIEST = datetime(1, 1, 1, tzinfo=UTC)


def parsed(line: str) -> tuple[datetime, str, dict[str, int]]:
    """The time, the service, and what the line counts for each feed: read in another way than the query reads it."""
    at = datetime.strptime(line[line.index("[") + 1 : line.index("]")], "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
    request, (status, size) = line.split('"')[1], line.split('"')[2].split()
    segment = request.split(" ")[1].split("/")[1]
    service = segment if segment in FEEDS["web-requests"]["services"].split("|") else "other"
    return at, service, {"web-requests": 1, "web-errors": int(int(status) >= 400), "web-bytes": int(size.replace("-", "0"))}


def recounted(lines: list[str]) -> dict[str, dict[tuple[str, datetime], int]]:
    """By feed, the value of every service and interval from the service's first line to the log's last."""
    counts, first = {feed: defaultdict(int) for feed in FEEDS}, {}
    for at, service, values in map(parsed, lines):
        start = at - (at - EARLIEST) % INTERVAL
        first[service] = min(first.get(service, start), start)
        for feed, value in values.items():
            counts[feed][service, start] += value
    last = max(start for _, start in counts["web-requests"])
    for service, start in first.items():
        for number in range((last - start) // INTERVAL + 1):
            for found in counts.values():
                found[service, start + number * INTERVAL] += 0
    return counts


def read(reader: Reader, feed: str) -> dict[tuple[str, datetime], set[int]]:
    """All values of each service and interval: after a crash a reading may be there twice, but not with another value."""
    found = defaultdict(set)
    for key, value in reader.pairs(feed, "service_use_record"):
        found[key.decode(), value["Timestamp"]].add(value["Value"])
    return found


@pytest.mark.timeout(600 + 120 * KILLS)
def test_what_is_counted_under_kills_is_what_a_recount_finds(broker, start, tmp_path):
    """Lines in small batches, a little out of order, with garbage between them, each part of them under a driver that dies."""
    reader = deployed(broker, "access-log")
    random_ = chance("access-log")
    lines = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()[:LINES]
    moved = {number: parsed(line)[0] + timedelta(seconds=random_.uniform(0, 2)) for number, line in enumerate(lines)}
    sent = [lines[number].encode() for number in sorted(moved, key=moved.get)]
    for bad in GARBAGE:
        sent.insert(random_.randrange(LINES), bad)
    numbered = list(enumerate(sent, 1))
    producer = Producer({"bootstrap.servers": broker.kafka})

    def work(number: int) -> None:
        first, last = (len(sent) * each // (KILLS + 1) for each in (number, number + 1))
        for line, text in numbered[first:last]:
            producer.produce("access-log", text, headers=[("line", str(line).encode())])
        assert producer.flush(30) == 0

    feeds = {name: feed | {"lateness": 3000} for name, feed in FEEDS.items()}
    update = {"name": "slowly", "parameters": {"feeds": feeds}, "most_per_batch": 40, "trigger": "1 second"}
    text = yaml.safe_dump(DECLARED.model_copy(update=update).model_dump(mode="json", by_alias=True, exclude_none=True))
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "slowly.yaml").write_text(text)
    work(0)
    driver = killed_while(lambda: start("access-log", queries), work, random_)
    expected = {feed: {place: {value} for place, value in found.items()} for feed, found in recounted(lines).items()}
    until("every interval is counted", lambda: all(len(read(reader, feed)) >= len(found) for feed, found in expected.items()))
    assert {feed: read(reader, feed) for feed in expected} == expected
    assert driver.stop() == 0
    assert [message.topic() for message in reader.look() if message.topic().endswith(".late")] == []
    letters = {m.value(): dict(m.headers()) for m in reader.look() if m.topic() == "access-log.dead-letter"}
    assert {value: int(said["line"]) for value, said in letters.items()} == {bad: sent.index(bad) + 1 for bad in GARBAGE}
    assert [re.sub(b":.*", b"", letters[bad]["reason"]) for bad in GARBAGE] == [
        b"not a line of the Common or Combined Log Format",
        b"value is not UTF-8 text",
        b"no such time",
    ]
