"""What a stream says of the cores that it has for the partitions of its topic."""

import pytest

from jobs.backends.topics import Described
from jobs.errors import JobError
from jobs.streams.topics_read import TopicsRead


class Broker:
    """Describes the topic `calls`, to which partitions are added."""

    partitions = 0

    def __init__(self, *_): ...

    def described(self) -> dict[str, Described]:
        return {"calls": Described("id", self.partitions)}


@pytest.fixture
def look(monkeypatch):
    """look(partitions, cores): what few cores are said to mean, after a look at so many partitions."""
    monkeypatch.setattr("jobs.streams.topics_read.Topics", Broker)

    def once(cores: int | None, *partitions: int) -> str | None:
        read = TopicsRead(None, ["calls"], None, "", cores)
        read._ids = {"calls": "id"}
        for Broker.partitions in partitions:
            read.look()
        return read.few_cores

    return once


@pytest.mark.parametrize(("cores", "partitions"), [(4, 2), (6, 2), (2, 1), (None, 50)])
def test_two_cores_for_each_partition_are_enough(look, capsys, cores, partitions):
    assert (look(cores, partitions), capsys.readouterr().out) == (None, "")


@pytest.mark.parametrize(("cores", "partitions"), [(3, 2), (2, 2), (4, 4)])
def test_with_fewer_it_says_once_in_the_log_that_readings_wait_at_each_handover(look, capsys, cores, partitions):
    has = f"topic calls has {partitions} partitions, and this stream has {cores} cores"
    few = f"{has}, so readings wait at each handover, which needs two for each partition"
    declared = f"declare partitions: {partitions} in schemas/feeds/calls.yaml"
    remedy = f"{declared} (on YARN and Kubernetes, increase spark.executor.instances), then start the stream again"
    assert look(cores, partitions, partitions, partitions) == f"{few}: {remedy}"
    assert capsys.readouterr().out == f"{few}: {remedy}\n"


def test_partitions_that_are_added_are_noticed_and_one_without_a_core_is_an_error(look):
    assert look(4, 2, 3).startswith("topic calls has 3 partitions, and this stream has 4 cores, so readings wait")
    with pytest.raises(JobError, match="has 5 partitions, and this stream has 4 cores, but each partition needs one"):
        look(4, 2, 3, 5)
