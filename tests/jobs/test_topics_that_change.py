"""Topics that change under a stream and an archive: records expire, a topic is made anew, partitions are added."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from jobs import archive, repair_history, score, skip_lost
from jobs.backends import offset_ledger, tables
from jobs.backends.topics import topic_now
from jobs.errors import JobError
from stack.deploy import schemas, topics
from supervision.files import StreamFolder, locked
from supervision.status import read_status
from tests.jobs.readings import NOON, kept, produce
from tests.support.topics import consume, delete
from tests.support.waiting import until

FRIDAY = dt.date(2026, 11, 20)


def at(number: int) -> dt.datetime:
    return NOON + dt.timedelta(seconds=10 * number)


class Feed:
    """A feed whose topic has one partition, its scoring and its archive."""

    def __init__(self, broker, platform, declared, run_job, spark):
        self.broker, self.platform, self.declared, self._run_job, self.spark = broker, platform, declared, run_job, spark
        self.admin = AdminClient({"bootstrap.servers": broker.kafka})
        self.folder = StreamFolder.of(platform.streams, declared.name, "score")
        self.table = tables.history(platform, declared)

    def send(self, *numbers: int, partition: int = 0) -> None:
        produce(self.broker, self.declared, *(("www", at(each), each) for each in numbers), partition=partition)

    def scored(self) -> list[int]:
        """The numbers of the readings that were scored, without repeats."""
        keys = {message.key() for message in consume(self.broker.kafka, self.declared.scored_topic)}
        return sorted((int(key.split(b"|")[1]) // 1000 - int(NOON.timestamp())) // 10 for key in keys)

    def score(self, act: Callable[[], None]) -> None:
        """`act` is done beside the driver, once it runs; then the driver is stopped."""

        def conduct() -> None:
            try:
                until("the stream", lambda: read_status(self.folder).state == "running", 120)
                act()
            finally:
                self.folder.request_stop()

        with ThreadPoolExecutor(1) as beside:
            done = beside.submit(conduct)
            self.run(score)
            done.result()

    def until_scored(self, *numbers: int) -> Callable[[], None]:
        return lambda: until("they are scored", lambda: self.scored() == list(numbers), 120, self.scored)

    def run(self, job, *options: str) -> None:
        self._run_job(job, self.platform, "--feed", self.declared.name, *options)

    def archive(self) -> None:
        self.run(archive, "--run-id", "run-1")

    def skip_lost(self) -> None:
        self.run(skip_lost, "--run-id", "skip-1")

    def archived(self) -> list[tuple[dt.datetime, int]]:
        return [(time, value) for _, time, value, _ in kept(self.spark, self.platform, self.declared)]

    def expire(self, before: int) -> None:
        """What retention does, at once."""
        wanted = TopicPartition(self.declared.topic, 0, before)
        self.admin.delete_records([wanted])[wanted].result(30)

    def make_anew(self) -> None:
        before = topic_now(self.platform, self.declared.topic).id
        delete(self.broker.kafka, self.declared.topic)
        topics.deploy(self.broker.kafka, self.declared.topics)
        until("it is there", lambda: topic_now(self.platform, self.declared.topic).id != before)

    def add_partitions(self, partitions: int) -> None:
        topics.deploy(self.broker.kafka, [replace(self.declared.topics[0], partitions=partitions), *self.declared.topics[1:]])


@pytest.fixture
def calls(broker, live_platform, feed, run_job, spark, monkeypatch, own_signals):
    one = feed.model_copy(update={"name": f"{feed.name}-1", "partitions": 1})
    topics.deploy(broker.kafka, one.topics)
    schemas.register(broker.registry, one.topics)
    monkeypatch.setattr("jobs.backends.settings.load_feed", lambda name: one)
    return Feed(broker, live_platform, one, run_job, spark)


@pytest.mark.full
def test_records_that_expired_before_they_were_read_stop_scoring_until_a_person_skips_them(calls, capsys):
    calls.score(lambda: (calls.send(0, 1), calls.until_scored(0, 1)()))
    calls.send(2, 3, 4)
    calls.expire(before=4)
    # The first batch has not ended when the driver stopped, so the checkpoint does not know that 0 and 1 are scored.
    lost = f"topic {calls.declared.topic}, partition 0: offsets 0 to 3 were deleted before they were read"
    for _ in range(2):
        with pytest.raises(
            JobError, match=f"^{lost}; `sundial streams skip-lost {calls.declared.name}` goes on with what is there$"
        ):
            calls.run(score)
    with locked(calls.folder.driver_lock), pytest.raises(JobError, match="runs; stop it first: sundial streams stop"):
        calls.skip_lost()
    calls.skip_lost()
    assert capsys.readouterr().out.splitlines()[-1] == f"scoring: {lost}"
    calls.score(calls.until_scored(0, 1, 4))
    calls.skip_lost()
    assert capsys.readouterr().out.splitlines()[-1] == f"{calls.declared.name}: nothing is lost, nothing was changed"


@pytest.mark.full
def test_a_topic_that_was_made_anew_is_scored_from_its_beginning_once_a_person_says_so(calls, capsys):
    """The new topic is longer than the old one was, so offsets alone do not tell."""
    calls.score(lambda: (calls.send(0, 1), calls.until_scored(0, 1)()))
    calls.make_anew()
    calls.send(2, 3, 4, 5)
    lost = f"topic {calls.declared.topic} was deleted and made anew: what was not read of the old one is lost"
    with pytest.raises(JobError, match=f"^{lost}; `sundial streams skip-lost"):
        calls.run(score)
    calls.skip_lost()
    assert capsys.readouterr().out.splitlines()[-1] == f"scoring: {lost}"
    calls.score(calls.until_scored(0, 1, 2, 3, 4, 5))


@pytest.mark.full
def test_a_topic_that_is_made_anew_under_a_running_stream_ends_it(calls):
    def anew() -> None:
        calls.send(0, 1)
        calls.until_scored(0, 1)()
        calls.make_anew()
        calls.send(2, 3, 4)
        until("the driver has noticed", lambda: calls.folder.read_heartbeat()["last_error"], 120)

    with pytest.raises(JobError, match="was deleted and made anew"):
        calls.score(anew)
    with pytest.raises(JobError, match="was deleted and made anew"):
        calls.run(score)
    calls.skip_lost()
    calls.score(calls.until_scored(0, 1, 2, 3, 4))


@pytest.mark.full
def test_a_partition_that_is_added_under_a_running_stream_is_scored_from_its_beginning(calls):
    def add() -> None:
        calls.send(0, 1)
        calls.until_scored(0, 1)()
        calls.add_partitions(2)
        calls.send(2, 3, partition=1)
        calls.send(4)
        until("the partition that it knows is scored", lambda: 4 in calls.scored(), 120, calls.scored)

    calls.score(add)
    calls.score(calls.until_scored(0, 1, 2, 3, 4))


@pytest.mark.full
def test_partitions_for_which_there_is_no_core_are_not_left_out_in_silence(calls):
    """The tests' session has two cores."""
    name = calls.declared.topic
    said = f"topic {name} has 3 partitions, and this stream has 2 cores, .*: declare partitions: 3 in schemas/feeds/{name}.yaml"

    def add() -> None:
        calls.add_partitions(3)
        until("the driver has noticed", lambda: calls.folder.read_heartbeat()["last_error"], 120)

    with pytest.raises(JobError, match=said):
        calls.score(add)
    with pytest.raises(JobError, match=said):
        calls.run(score)


@pytest.mark.full
def test_an_archive_refuses_what_it_can_no_longer_read_until_a_person_skips_it(calls, capsys):
    calls.send(0, 1)
    calls.archive()
    calls.send(2, 3, 4)
    calls.expire(before=4)
    lost = f"topic {calls.declared.topic}, partition 0: offsets 2 to 3 were deleted before they were read"
    with pytest.raises(JobError, match=f"^{lost}; `sundial streams skip-lost {calls.declared.name}` goes on"):
        calls.archive()
    assert calls.archived() == [(at(0), 0), (at(1), 1)]
    calls.skip_lost()
    assert capsys.readouterr().out.splitlines()[-1] == f"archive: {lost}"
    assert calls.table.commits(1)[0].note["skipped"] == [lost]
    calls.archive()
    calls.archive()
    assert calls.archived() == [(at(0), 0), (at(1), 1), (at(4), 4)]


@pytest.mark.full
def test_an_archive_goes_on_with_a_topic_that_was_made_anew_and_its_corrections_win(calls):
    """The offsets of the new topic are smaller than those that are archived."""
    calls.send(0, 1, 2)
    calls.archive()
    calls.make_anew()
    produce(calls.broker, calls.declared, ("www", at(1), 101), ("www", at(3), 3), partition=0)
    with pytest.raises(JobError, match="was deleted and made anew: what was not read of the old one is lost"):
        calls.archive()
    calls.skip_lost()
    calls.archive()
    assert calls.archived() == [(at(0), 0), (at(1), 101), (at(2), 2), (at(3), 3)]
    assert offset_ledger.archived(calls.table) == {0: 2}
    calls.run(repair_history, "--run-id", "run-2", "--from", str(FRIDAY), "--to", str(FRIDAY))
    assert calls.archived() == [(at(0), 0), (at(1), 101), (at(2), 2), (at(3), 3)], "what only the old topic held stays"
