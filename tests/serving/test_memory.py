"""Memory keeps the newest, once each, in order, and no more than it may."""

import random
import timeit
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from serving.memory import Anomaly, Memory, Reading
from serving.scored import Series
from tests.serving.kept import kept


def memory(readings=100, services=10, anomalies=5) -> Memory:
    return Memory(readings, services, anomalies)


def reading(at: int, value: int = 10, anomalous: bool = False, expected: float | None = 10.0, version: int = 1) -> Reading:
    return Reading(at, value, expected, None, None if expected is None else 100 * value / expected, anomalous, version)


def flag(service: str, at: int, value: int = 90, version: int = 1) -> Anomaly:
    return Anomaly(service, at, value, 10.0, 1.0, 900.0, version)


def test_readings_come_out_as_they_went_in_ordered_by_time(feed):
    held = memory()
    wanted = [reading(at, value=at * 2, expected=None if at % 3 else 5.0, anomalous=at % 2 == 0) for at in range(50)]
    for each in random.Random(3).sample(wanted, 50):
        held.put_reading(feed.name, "a", each)
    assert kept(held, feed.name, "a") == wanted
    assert kept(held, feed.name, "a", 48) == wanted[48:]
    assert kept(held, feed.name, "b") == []


def test_a_later_record_of_one_time_replaces_the_earlier(feed):
    held = memory()
    for value in (1, 2, 3):
        held.put_reading(feed.name, "a", reading(5, value))
    assert kept(held, feed.name, "a") == [reading(5, 3)]


def test_the_oldest_goes_when_there_is_no_room(feed):
    held = memory(readings=3, services=2)
    for at in (4, 1, 2, 5, 3):
        held.put_reading(feed.name, "a", reading(at))
    assert [each.at for each in kept(held, feed.name, "a")] == [3, 4, 5]
    held.put_reading(feed.name, "b", reading(9))
    held.put_reading(feed.name, "c", reading(8))
    assert set(held.services(feed.name)) == {"b", "c"}, "the service not heard of for longest made room"


def test_since_when_all_are_flagged_is_found_at_once_however_many_are():
    series = Series(100_000)
    for at in range(100_000):
        series.put(reading(at, anomalous=at > 0))
    assert series.flagged_since() == 1
    series.forget(0)
    assert series.flagged_since() == 1, "all are flagged"
    assert min(timeit.repeat(series.flagged_since, number=1, repeat=20)) < 0.001, "a loop over them takes several milliseconds"
    series.put(reading(100_000))
    assert series.flagged_since() is None
    assert Series(1).flagged_since() is None


def test_made_up_names_drop_each_other_and_no_service_of_the_baseline():
    held = memory(services=3)
    held.expect("f", frozenset({"a", "b"}))
    held.put_reading("f", "a", reading(1))
    for number in range(5):
        held.put_reading("f", f"made-up-{number}", reading(100 + number))
    assert set(held.services("f")) == {"a", "made-up-3", "made-up-4"}
    held.put_reading("f", "made-up-3", reading(90))  # older, but heard of last
    held.put_reading("f", "b", reading(2))
    assert set(held.services("f")) == {"a", "b", "made-up-3"}
    crowding = held.crowding()["f"]
    assert (crowding.evicted, crowding.turned_away, crowding.example) == (4, 0, "made-up-4")


def test_with_more_services_in_the_baseline_than_are_kept_those_that_came_first_stay():
    held = memory(services=2)
    held.expect("f", frozenset("abc"))
    for at in range(3):
        for service in ("a", "b", "c", "made-up"):
            held.put_reading("f", service, reading(at))
    assert {name: newest.at for name, newest in held.services("f").items()} == {"a": 2, "b": 2}
    assert [each.at for each in kept(held, "f", "a")] == [0, 1, 2]
    crowding = held.crowding()["f"]
    assert (crowding.evicted, crowding.turned_away, crowding.example, crowding.in_baseline) == (0, 6, "made-up", 3)


def test_a_promotion_changes_who_makes_room():
    held = memory(services=3)
    held.expect("f", frozenset({"a"}))
    for service in ("a", "b", "c"):
        held.put_reading("f", service, reading(1))
    held.expect("f", frozenset({"b", "c"}))
    held.put_reading("f", "d", reading(1))
    assert set(held.services("f")) == {"b", "c", "d"}, "a is in no baseline any more"
    held.expect("f", frozenset({"c"}))
    held.put_reading("f", "e", reading(1))
    assert set(held.services("f")) == {"b", "c", "e"}, "d was heard of before b left the baseline"


def test_a_feed_that_is_let_go_leaves_nothing():
    held = memory()
    for feed in ("f", "g"):
        held.put_reading(feed, "a", reading(1, value=90, anomalous=True))
        held.put_anomaly(feed, flag("a", 1, value=90))
    held.keep({"g"})
    assert (held.services("f"), held.anomalies("f", 5), held.newest_at("f")) == ({}, [], None)
    assert (set(held.services("g")), len(held.anomalies("g", 5))) == ({"a"}, 1)


def test_anomalies_are_the_newest_once_each(feed):
    held = memory(anomalies=3)
    for at in (1, 5, 3, 3, 5, 4, 2):
        held.put_anomaly(feed.name, flag("a", at))
    held.put_anomaly(feed.name, flag("b", 4))
    assert [(each.at, each.service) for each in held.anomalies(feed.name, 10)] == [(5, "a"), (4, "a"), (4, "b")]
    assert held.anomalies(feed.name, 10, service="b") == [flag("b", 4)]
    assert held.anomalies(feed.name, 1) == [flag("a", 5)]


def test_an_anomaly_whose_reading_was_corrected_is_left_out(feed):
    held = memory()
    held.put_reading(feed.name, "a", reading(1, value=90, anomalous=True))
    held.put_anomaly(feed.name, flag("a", 1, value=90))
    held.put_anomaly(feed.name, flag("a", 2, value=90))
    assert [each.at for each in held.anomalies(feed.name, 10)] == [2, 1]
    held.put_reading(feed.name, "a", reading(1, value=10))
    assert [each.at for each in held.anomalies(feed.name, 10)] == [2]


def test_of_two_baselines_that_scored_a_reading_the_newer_one_counts(feed):
    """While one query hands over to the next, both score, and either may be the last to do so."""
    held = memory()
    assert held.put_reading(feed.name, "a", reading(1, value=90, version=2))
    assert held.put_anomaly(feed.name, flag("a", 1, version=1))
    assert not held.put_reading(feed.name, "a", reading(1, value=90, anomalous=True, version=1))
    assert (kept(held, feed.name, "a"), held.anomalies(feed.name, 10)) == ([reading(1, value=90, version=2)], [])
    assert held.put_anomaly(feed.name, flag("b", 1, version=2))
    assert not held.put_anomaly(feed.name, flag("b", 1, value=91, version=1))
    assert held.anomalies(feed.name, 10) == [flag("b", 1, version=2)]


def test_a_correction_counts_though_a_newer_baseline_has_scored_what_it_corrects(feed):
    """The query that went by the newer one may have failed since."""
    held = memory()
    first = replace(reading(1, value=90, anomalous=True, version=3), taken=1000, offset=7)
    corrected = replace(reading(1, value=10, version=2), taken=1000, offset=8)
    assert held.put_reading(feed.name, "a", first)
    assert held.put_anomaly(feed.name, replace(flag("a", 1, version=3), taken=1000, offset=7))
    assert held.put_reading(feed.name, "a", corrected)
    assert not held.put_reading(feed.name, "a", first), "scored again by a query that is behind"
    assert (kept(held, feed.name, "a"), held.anomalies(feed.name, 10)) == ([corrected], [])


PLACES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-1, 2))  # taken, offset, version
ROWS = st.lists(PLACES, min_size=1, max_size=8, unique=True).flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows)))


@given(ROWS)
def test_what_counts_does_not_depend_on_the_order_in_which_rows_are_written(rows):
    def of(taken: int, offset: int, version: int) -> Reading:
        return replace(reading(5, value=100 * taken + offset, version=version), taken=taken, offset=offset)

    series, flags = Series(10), memory()
    for place in rows[1]:
        series.put(of(*place))
        flags.put_anomaly("f", replace(flag("a", 5, version=place[2]), taken=place[0], offset=place[1]))
    assert series.newest() == of(*max(rows[0]))
    assert flags.anomalies("f", 5)[0].order == max(rows[0])


def test_deleted_records_are_forgotten(feed):
    held = memory(anomalies=2)
    for at in (1, 2):
        held.put_reading(feed.name, "a", reading(at))
        held.put_anomaly(feed.name, flag("a", at))
    held.forget_reading(feed.name, "a", 1)
    held.forget_reading(feed.name, "nobody", 1)
    held.forget_anomaly(feed.name, "a", 2)
    assert [each.at for each in kept(held, feed.name, "a")] == [2]
    assert [each.at for each in held.anomalies(feed.name, 10)] == [1]
    held.forget_reading(feed.name, "a", 2)
    assert held.newest_at(feed.name) is None
    assert held.services(feed.name) == {"a": None}
