"""Listeners hear what they asked for; a slow one loses its backlog, never more memory, and is told."""

import asyncio
import contextlib

import pytest

from serving.events import ALIVE, ANOMALY, RESYNC, SCORED, Event, Events, Listener


def scored(service: str, feed: str = "f") -> Event:
    return Event(SCORED, feed, service, None)


def flagged(service: str, feed: str = "f") -> Event:
    return Event(ANOMALY, feed, service, None)


async def heard(listener: Listener) -> list[tuple[str | None, Event]]:
    """All that is there for the listener."""
    found, iterator = [], aiter(listener.heard(lambda: True))
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        while True:
            found.append(await asyncio.wait_for(anext(iterator), 0.1))
    return found


async def received(events: Events, feed: str | None, services: str, published: list[Event]) -> list[Event]:
    """What a listener hears of events that all come while it is busy."""
    with events.listening(feed, services) as listener:
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
        with events.listening("f") as listener:
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
        with events.listening("f") as listener:
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
        with events.listening("f") as listener:
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
        with events.listening(feed) as listener:
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
        with events.listening(feed) as first:
            events.publish(before)
            *_, (last, _) = [(first.begins, None), *await heard(first)]
        events.publish(missed)
        await asyncio.sleep(0)
        with events.listening(feed, after=after and after.format(last)) as again:
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
        with events.listening("f") as listener:
            assert (events.listeners, listener.begins.rpartition("-")[2]) == (1, "0")
            events.publish([scored("a")])
            await asyncio.sleep(0.01)
            return await heard(listener)

    assert [event for _, event in asyncio.run(main())] == [scored("a")]
