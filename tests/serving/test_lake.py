"""The lake's tables are read once for each version, however many ask at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving.lake import Lake
from tests.serving import world

ASKING = 8


@pytest.fixture
def table(lake, feed):
    world.promote(lake, feed, {"a": 1.0})
    return Lake(str(lake)).open(f"baseline/{feed.table}")


def test_of_those_who_ask_at_once_one_reads_and_the_others_get_what_it_found(lake, table):
    reads, begun, goes_on = [], threading.Event(), threading.Event()
    kept = Lake(str(lake))

    def read() -> str:
        reads.append(threading.get_ident())
        begun.set()
        goes_on.wait(10)
        return "found"

    with ThreadPoolExecutor(ASKING) as pool:
        answers = [pool.submit(kept.of_version, ("kind", "feed"), table, read) for _ in range(ASKING)]
        assert begun.wait(10)
        assert kept.of_version(("other kind", "feed"), table, lambda: "at once") == "at once", "others need not wait"
        goes_on.set()
        assert [each.result(10) for each in answers] == ["found"] * ASKING
    assert len(reads) == 1


def test_after_a_read_that_failed_the_next_who_asks_reads_again(lake, table):
    kept, found = Lake(str(lake)), iter([OSError("gone"), "found"])

    def read() -> str:
        each = next(found)
        if isinstance(each, Exception):
            raise each
        return each

    with pytest.raises(OSError, match="gone"):
        kept.of_version(("kind", "feed"), table, read)
    assert kept.of_version(("kind", "feed"), table, read) == "found"
