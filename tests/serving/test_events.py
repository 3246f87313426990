"""Listeners hear what they asked for; a slow one loses its backlog, never more memory, and is told."""

import asyncio
import contextlib
import tracemalloc

import pytest

from serving.events import Events, Listener
from serving.kept_events import ALIVE, ANOMALY, GATE, KINDS, PROMOTION, RESYNC, ROW, SCORED, STREAM, Event, Wanted


def scored(service: str, feed: str = "f") -> Event:
    return Event(SCORED, feed, service, None)


def flagged(service: str, feed: str = "f") -> Event:
    return Event(ANOMALY, feed, service, None)


def row(number: int, query: str = "q", size: int = 0) -> Event:
    return Event(ROW, "", "", f"{number}".ljust(size), query)


ALL_OF_Q = Wanted(kinds=frozenset(KINDS), queries=frozenset("q"))


async def heard(listener: Listener) -> list[tuple[str | None, Event]]:
    """All that is there for the listener."""
    found, iterator = [], aiter(listener.heard(lambda: True))
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        while True:
            found.append(await asyncio.wait_for(anext(iterator), 0.1))
    return found


async def received(events: Events, feed: str | None, services: str, published: list[Event]) -> list[Event]:
    """What a listener hears of events that all come while it is busy."""
    with events.listening(Wanted(feed, frozenset(services))) as listener:
        events.publish(published)
        return [event for _, event in await heard(listener)]


def run(capacity: int, feed: str | None, services: str, published: list[Event]) -> list[Event]:
    """services: each with a letter for its name."""

    async def main():
        events = Events(capacity)
        events.open()
        found = await received(events, feed, services, published)
        assert events.listeners == 0, "a listener that left is forgotten"
        return found

    return asyncio.run(main())


def test_a_listener_hears_its_services_and_all_anomalies_of_its_feed():
    published = [scored("a"), scored("b"), flagged("b"), scored("a", "other"), flagged("a", "other"), flagged("a")]
    assert run(10, "f", "a", published) == [scored("a"), flagged("b"), flagged("a")]
    assert run(10, "f", "ab", published) == run(10, "f", "", published) == [scored("a"), scored("b"), flagged("b"), flagged("a")]
    assert run(10, "f", "bc", published) == [scored("b"), flagged("b"), flagged("a")]
    assert run(10, None, "", published) == published


def test_who_is_not_admitted_any_more_hears_nothing_more():
    async def main():
        events, answers = Events(10), iter([True, False])
        events.open()
        with events.listening(Wanted("f")) as listener:
            events.publish([scored("a")])
            iterator = aiter(listener.heard(lambda: next(answers)))
            assert (await anext(iterator))[1] == scored("a")
            events.publish([scored("b")])
            with pytest.raises(StopAsyncIteration):
                await anext(iterator)

    asyncio.run(main())


def test_a_full_queue_is_dropped_and_the_listener_told():
    found = run(3, "f", "", [scored(str(number)) for number in range(7)])
    assert found == [Event(RESYNC, "f", "", None), scored("6")]
    assert run(7, "f", "", [scored(str(number)) for number in range(7)]) == [scored(str(number)) for number in range(7)]


def test_a_listener_that_hears_nothing_is_told_that_the_line_is_well(monkeypatch):
    monkeypatch.setattr("serving.events.ALIVE_SECONDS", 0.01)

    async def main():
        events = Events(3)
        events.open()
        with events.listening(Wanted("f")) as listener:
            iterator = aiter(listener.heard(lambda: True))
            alive = [(await anext(iterator))[1], (await anext(iterator))[1]]
            events.publish([scored("a")])
            after = [(await anext(iterator))[1], (await anext(iterator))[1]]
            return alive, [each for each in after if each.kind != ALIVE]

    assert asyncio.run(main()) == ([Event(ALIVE, "f", "", None)] * 2, [scored("a")])


def test_closing_ends_every_listener():
    async def main():
        events = Events(3)
        events.open()
        ended = asyncio.ensure_future(drain(events))
        await asyncio.sleep(0)
        await asyncio.to_thread(events.close)
        return await asyncio.wait_for(ended, 2)

    async def drain(events):
        with events.listening(Wanted("f")) as listener:
            return [event async for _, event in listener.heard(lambda: True)]

    assert asyncio.run(main()) == []


def test_a_feed_that_is_gone_ends_the_streams_of_its_listeners_alone():
    async def main():
        events = Events(3)
        events.open()
        of_feed, of_all = (asyncio.ensure_future(drain(events, feed)) for feed in ("f", None))
        await asyncio.sleep(0)
        events.keep({"other"})
        assert await asyncio.wait_for(of_feed, 2) == []
        events.publish([scored("a", "other")])
        await asyncio.sleep(0.01)
        events.close()
        return await asyncio.wait_for(of_all, 2)

    async def drain(events, feed):
        with events.listening(Wanted(feed)) as listener:
            return [event async for _, event in listener.heard(lambda: True)]

    assert asyncio.run(main()) == [scored("a", "other")]


def test_publishing_without_listeners_or_loop_does_nothing():
    Events(3).publish([scored("a")])


def since(after: str | None, before: list[Event], missed: list[Event], feed: str = "f") -> list[tuple[str | None, Event]]:
    """What a listener hears that left after `before`, missed some events, and came back with the id `after`. There, {} is the
    last id that it heard. Three events are kept."""

    async def main():
        events = Events(3)
        events.open()
        with events.listening(Wanted(feed)) as first:
            events.publish(before)
            *_, (last, _) = [(first.begins, None), *await heard(first)]
        events.publish(missed)
        await asyncio.sleep(0)
        with events.listening(Wanted(feed), after and after.format(last)) as again:
            return await heard(again)

    return asyncio.run(main())


def test_a_listener_that_comes_back_hears_what_it_missed_in_order_and_once():
    missed = [scored("b"), scored("other's", "other"), flagged("c")]
    found = since("{}", [scored("a")], missed)
    assert [event for _, event in found] == [scored("b"), flagged("c")]
    assert len({id_ for id_, _ in found}) == 2, "each can be gone on from"
    assert [event for _, event in since("{}", [], missed)] == [scored("b"), flagged("c")], "it had heard nothing before"
    assert since("{}", [scored("a")], []) == []


def test_a_listener_whose_next_event_is_not_kept_any_more_must_reload():
    assert since("{}", [scored("a")], [scored(str(number)) for number in range(4)]) == [(None, Event(RESYNC, "f", "", None))]


@pytest.mark.parametrize("id_", ["", "1", "0-0", "{}0", "{}-", "9" * 5000, "{} ", "²", "\n{}"])
def test_an_id_that_is_none_of_this_process_makes_the_listener_reload(id_):
    assert since(id_, [scored("a")], [scored("b")]) == [(None, Event(RESYNC, "f", "", None))]


def test_what_comes_after_a_listener_was_registered_is_not_lost_before_it_looks():
    async def main():
        events = Events(3)
        events.open()
        with events.listening(Wanted("f")) as listener:
            assert (events.listeners, listener.begins.rpartition("-")[2]) == (1, "0")
            events.publish([scored("a")])
            await asyncio.sleep(0.01)
            return await heard(listener)

    assert [event for _, event in asyncio.run(main())] == [scored("a")]


def all_heard(wanted: Wanted, published: list[Event], capacity: int = 20) -> list[Event]:
    async def main():
        events = Events(capacity)
        events.open()
        with events.listening(wanted) as listener:
            events.publish(published)
            return [event for _, event in await heard(listener)]

    return asyncio.run(main())


def test_a_listener_hears_the_kinds_it_wants_and_rows_only_of_the_queries_it_names():
    promotion, gate = Event(PROMOTION, "f", "", "{}"), Event(GATE, "other", "", "{}")
    stream, of_queries = Event(STREAM, "f", "", "{}"), Event(STREAM, "", "", "{}")
    published = [scored("a"), promotion, gate, stream, of_queries, row(1), row(2, "p")]
    assert all_heard(Wanted(), published) == published[:5]
    assert all_heard(Wanted("f"), published) == [scored("a"), promotion, stream], "a stream of queries is of no feed"
    assert all_heard(Wanted("f", frozenset("b")), published) == [promotion, stream]
    assert all_heard(Wanted(kinds=frozenset({GATE, STREAM})), published) == [gate, stream, of_queries]
    assert all_heard(ALL_OF_Q, published) == published[:6]
    rows_alone = Wanted("f", kinds=frozenset({ROW}), queries=frozenset("pq"))
    assert all_heard(rows_alone, published) == [row(1), row(2, "p")], "rows are of no feed"


def returned(wanted: Wanted, missed: list[Event], between: str | None = None) -> list[Event]:
    """What a listener hears that comes back after it missed some events. between: a query that was let go meanwhile, and that
    others listened to again before anything was missed."""

    async def main():
        events = Events(3, room=1000)
        events.open()
        with events.listening(wanted) as first:
            last = first.begins
        if between is not None:
            events.let_go(between)
            events.publish([scored("z", "nobody's")])
            await asyncio.sleep(0.01)
            with events.listening(Wanted(kinds=frozenset({ROW}), queries=frozenset(between))):
                pass
        events.publish(missed)
        await asyncio.sleep(0.01)
        with events.listening(wanted, last) as again:
            return [event for _, event in await heard(again)]

    return asyncio.run(main())


LOST = Event(RESYNC, "", "", None)


def test_readings_and_rows_that_come_in_masses_push_out_nothing_that_is_rare():
    promotion = Event(PROMOTION, "f", "", "{}")
    missed = [promotion, *[scored(str(number)) for number in range(9)], *map(row, range(9))]
    assert returned(Wanted(kinds=frozenset({PROMOTION})), missed) == [promotion]
    assert returned(Wanted(kinds=frozenset({PROMOTION, SCORED})), missed) == [LOST]
    assert returned(Wanted(), [promotion, *map(row, range(9))]) == [promotion]


def test_missed_rows_come_with_the_other_events_in_order_unless_any_may_be_lost():
    missed = [row(1), scored("a"), row(9, "other"), flagged("a")]
    assert returned(ALL_OF_Q, missed) == [each for each in missed if each.query != "other"]
    assert returned(ALL_OF_Q, [*map(row, range(4))]) == [LOST]
    assert returned(ALL_OF_Q, [*map(row, range(2)), flagged("a"), scored("a")])[0] == LOST, "more than its queue holds"
    assert returned(ALL_OF_Q, [row(1, size=800), row(2, size=800)]) == [LOST], "rows have room by their bytes, too"
    assert returned(ALL_OF_Q, [row(1)], between="q") == [LOST], "for a while its rows were no events"
    assert returned(Wanted(), [scored("a")], between="q") == [scored("z", "nobody's"), scored("a")]


def test_a_query_that_is_let_go_ends_the_streams_of_its_listeners_alone():
    async def main():
        events = Events(3)
        events.open()
        with events.listening(ALL_OF_Q) as of_query, events.listening(Wanted()) as of_all:
            assert events.queries() == {"q"}
            events.let_go("q")
            await asyncio.sleep(0.01)
            assert (of_query.closed, of_all.closed) == (True, False)
        with events.listening(ALL_OF_Q, of_query.begins) as again:
            return await heard(again)

    assert asyncio.run(main()) == [(None, LOST)], "although no event has come since"


@pytest.mark.full
def test_two_hundred_listeners_that_never_read_cost_little_and_are_told():
    """Each would have 80 MB of rows to read, and the readings."""

    async def main():
        events = Events(5000)
        events.open()
        with contextlib.ExitStack() as listening:
            wanted = [ALL_OF_Q, Wanted(), Wanted("f"), Wanted(kinds=frozenset({ROW}), queries=frozenset("qp"))]
            before = tracemalloc.get_traced_memory()[0]
            listeners = [listening.enter_context(events.listening(wanted[number % 4])) for number in range(200)]
            for number in range(0, 8000, 100):
                batch = range(number, number + 100)
                events.publish([each for one in batch for each in (row(one, size=10_000), scored(str(one)))])
                await asyncio.sleep(0)
            assert tracemalloc.get_traced_memory()[0] - before < 50_000_000
            fast = listening.enter_context(events.listening(ALL_OF_Q))
            events.publish([row(9)])
            return await heard(fast), [await heard(each) for each in listeners[:4]]

    tracemalloc.start()
    try:
        fast, slow = asyncio.run(main())
    finally:
        tracemalloc.stop()
    assert [event for _, event in fast] == [row(9)]
    assert [each[0][1].kind for each in slow] == [RESYNC] * 4
    assert all(each[-1][1] == row(9) for each in (slow[0], slow[3])), "then they go on"
