"""Listeners hear what they asked for; a slow one loses its backlog, never more memory, and is told."""

import asyncio
from typing import Any

from serving.events import ALIVE, ANOMALY, RESYNC, SCORED, Event, Events


def scored(service: str, feed: str = "f") -> Event:
    return Event(SCORED, feed, service, None)


def flagged(service: str, feed: str = "f") -> Event:
    return Event(ANOMALY, feed, service, None)


async def received(events: Events, feed: str | None, service: str | None, published: list[Event]) -> list[Event]:
    """What a listener hears of events that all come while it is busy."""
    listening: Any = events.listen(feed, service)
    first = asyncio.ensure_future(anext(listening))
    await asyncio.sleep(0)  # it listens now
    events.publish(published)
    found = [await first]
    while True:
        try:
            found.append(await asyncio.wait_for(anext(listening), 0.1))
        except (TimeoutError, StopAsyncIteration):
            break
    await listening.aclose()
    return found


def run(capacity: int, feed: str | None, service: str | None, published: list[Event]) -> list[Event]:
    async def main():
        events = Events(capacity)
        events.open()
        found = await received(events, feed, service, published)
        assert events.listeners == 0, "a listener that left is forgotten"
        return found

    return asyncio.run(main())


def test_a_listener_hears_its_service_and_all_anomalies_of_its_feed():
    published = [scored("a"), scored("b"), flagged("b"), scored("a", "other"), flagged("a", "other"), flagged("a")]
    assert run(10, "f", "a", published) == [scored("a"), flagged("b"), flagged("a")]
    assert run(10, "f", None, published) == [scored("a"), scored("b"), flagged("b"), flagged("a")]
    assert run(10, None, None, published) == published


def test_a_full_queue_is_dropped_and_the_listener_told():
    found = run(3, "f", None, [scored(str(number)) for number in range(7)])
    assert found == [Event(RESYNC, "f", "", None), scored("6")]
    assert run(7, "f", None, [scored(str(number)) for number in range(7)]) == [scored(str(number)) for number in range(7)]


def test_a_listener_that_hears_nothing_is_told_that_the_line_is_well(monkeypatch):
    monkeypatch.setattr("serving.events.ALIVE_SECONDS", 0.01)

    async def main():
        events = Events(3)
        events.open()
        listening: Any = events.listen("f", "a")
        alive = [await anext(listening), await anext(listening)]
        events.publish([scored("a")])
        return alive, [each for each in [await anext(listening), await anext(listening)] if each.kind != ALIVE]

    assert asyncio.run(main()) == ([Event(ALIVE, "f", "a", None)] * 2, [scored("a")])


def test_closing_ends_every_listener():
    async def main():
        events = Events(3)
        events.open()
        ended = asyncio.ensure_future(drain(events))
        await asyncio.sleep(0)
        await asyncio.to_thread(events.close)
        return await asyncio.wait_for(ended, 2)

    async def drain(events):
        return [each async for each in events.listen("f", None)]

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
        return [each async for each in events.listen(feed, None)]

    assert asyncio.run(main()) == [scored("a", "other")]


def test_publishing_without_listeners_or_loop_does_nothing():
    Events(3).publish([scored("a")])
