"""A feed's readings piece by piece: services that are retired or gone for good; the same events however they are cut."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.feeds import Feed
from contracts.incident_queries import settings_of
from jobs.transforms.incident_walk import Known, Settings, followed_through, readings_of
from tests.support.seed import chance
from tests.transforms.half_hours import FEED, HALF_HOUR, MANY, SILENCE, Row, half_hours

DAY = 48  # half hours
MONDAY = 1_748_822_400_000  # 2 June 2025


def settings(**incidents) -> Settings:
    feed = Feed.model_validate(FEED.model_dump() | {"incidents": {"silence": SILENCE} | incidents})
    return Settings.of(settings_of(feed))


def followed(of: Settings, known: Known, rows: list[Row], clock: int) -> tuple[Known, list[dict]]:
    """As the night keeps it: with the services that had no readings. clock: number of the half hour."""
    names = sorted({name for name, _, _ in rows})
    at = MONDAY + np.array([number for _, number, _ in rows], np.int64) * HALF_HOUR
    values = np.array([value for _, _, value in rows], float)
    readings = readings_of(of, names, [name for name, _, _ in rows], at, at, values)
    after, events = followed_through(of, known, names, readings, MONDAY + clock * HALF_HOUR)
    services = {name: each for name, each in {**known.services, **after.services}.items() if name in after.heard}
    return replace(after, services=services), events


def brief(events: list[dict]) -> list[tuple[str, str, str, int]]:
    """(kind, service, state, number of the half hour)."""
    return [(row["Kind"], row["ServiceName"], row["State"], (row["At"] - MONDAY) // HALF_HOUR) for row in events]


def steady(service: str, *numbers: int) -> list[Row]:
    return [(service, number, 10.0) for number in numbers]


def by_time(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[1])


def test_a_name_with_a_line_break_has_the_rule_of_all_services():
    _, events = followed(settings(), Known(), steady("a\nb", *range(20)), 20 + SILENCE)
    assert brief(events) == [("silence", "a\nb", "opened", 20 + SILENCE)]


def test_a_service_that_is_gone_for_good_is_forgotten_and_new_when_it_comes_again():
    of, gone = settings(forget_days=2), 20 + 2 * DAY - 1
    known, events = followed(of, Known(), by_time(steady("a", *range(20)) + steady("b", *range(gone))), gone - 1)
    assert brief(events) == [("silence", "a", "opened", 20 + SILENCE - 1 + 1)]
    assert known.services.keys() == {"a", "b"}
    known, events = followed(of, known, steady("b", gone), gone)
    assert brief(events) == [("silence", "a", "closed", gone)]
    assert known.services.keys() == known.heard.keys() == {"b"}
    known, events = followed(of, known, [("a", gone + 1, 9999.0), *steady("b", gone + 1)], gone + 1)
    assert (events, known.heard["a"].readings) == ([], 1)


def test_what_deviates_is_over_when_its_service_is_forgotten():
    rows = [row for row in half_hours() if row[0] == "b" or row[1] < 702]
    of = settings(forget_days=1, silence=None)
    known, _ = followed(of, Known(), rows, 702)
    assert known.services["a"].open
    known, events = followed(of, known, steady("b", 701 + DAY), 701 + DAY)
    [closed] = [row for row in events if row["ServiceName"] == "a"]
    assert (closed["State"], closed["At"], closed["Id"][:2]) == ("closed", MONDAY + (701 + DAY) * HALF_HOUR, "a@")
    assert known.groups.incidents == {name: row for name, row in known.groups.incidents.items() if row["ServiceName"] == "b"}


def test_a_service_is_not_forgotten_before_it_can_be_silent():
    of = settings(forget_days=1, silence=100)
    _, events = followed(of, Known(), steady("a", *range(20)) + steady("b", 300), 300)
    assert brief(events) == [("silence", "a", "opened", 120), ("silence", "a", "closed", 121)]


def test_a_retired_service_has_no_incidents():
    rows = half_hours()
    _, wanted = followed(settings(), Known(), [row for row in rows if row[0] == "a"], MANY - 1)
    known, events = followed(settings(retired=["b.*", "c"]), Known(), rows, MANY - 1)
    assert events == wanted
    assert known.services.keys() == known.heard.keys() == {"a"}


@pytest.mark.full
def test_an_open_incident_is_over_when_its_service_is_retired():
    rows = [row for row in half_hours() if row[1] < 725]
    known, _ = followed(settings(), Known(), rows, 724)
    assert known.heard["b"].silent
    of = settings(retired=["b"])
    known, events = followed(of, known, steady("a", 725), 725)
    assert [each for each in brief(events) if each[1] == "b"] == [("silence", "b", "closed", 725)]
    assert known.services.keys() == known.heard.keys() == {"a"}
    rows = [row for row in half_hours() if row[1] < 702]
    known, _ = followed(settings(), Known(), rows, 701)
    assert known.services["a"].open
    known, events = followed(settings(retired=["a"]), known, [], 702)
    assert brief(events) == [("deviation", "a", "closed", 702)]
    assert known.groups.incidents == {}


@pytest.mark.full
@pytest.mark.parametrize("pieces", [2, 5, 12])
def test_events_do_not_depend_on_how_the_readings_are_cut(pieces):
    """Also where services come and go, are forgotten, and come again."""
    random = chance(f"pieces {pieces}")
    rows = [row for row in half_hours() if row[0] == "a" or not 300 < row[1] < 310 + 2 * DAY]
    rows += [("c", *row[1:]) for row in half_hours() if row[0] == "b" and row[1] % (3 * DAY) < 60]
    rows += [("d", *row[1:]) for row in half_hours() if row[0] == "b" and row[1] % (5 * DAY) < 20]
    rows = by_time(rows)
    of = settings(forget_days=1, group={"services": 2, "within": 3})
    whole, wanted = followed(of, Known(), rows, MANY)
    cuts, known, found = sorted(random.sample(range(50, MANY), pieces - 1)), Known(), []
    for first, end in zip([0, *cuts], [*cuts, MANY + 1], strict=True):
        piece = [row for row in rows if first <= row[1] < end]
        known, events = followed(of, known, piece, min(end, MANY + 1) - 1)
        found += events
    assert found == wanted
    assert {"group", "silence", "deviation"} == {row["Kind"] for row in wanted}
    assert (known.heard["b"].readings, known.heard["c"].readings) == (MANY - 310 - 2 * DAY - 10, 38), "both were forgotten"
    assert (known.heard, known.groups) == (whole.heard, whole.groups)
    assert {name: each.open for name, each in known.services.items()} == {
        name: each.open for name, each in whole.services.items()
    }


def in_windows(*windows: tuple[str, int, int]) -> Settings:
    """windows: pattern, number of the first half hour, and of the first one after it."""
    return replace(
        settings(), windows=tuple((pattern, *(MONDAY + each * HALF_HOUR for each in span)) for pattern, *span in windows)
    )


@pytest.mark.full
def test_what_lies_in_a_maintenance_window_is_no_incident_and_teaches_nothing():
    """As if its readings had never come; a service is not silent because of it."""
    rows = half_hours()
    kept = [row for row in rows if not (row[0] == "a" and 695 <= row[1] < 710)]
    _, wanted = followed(replace(settings(), rules=settings(silence=None).rules), Known(), kept, MANY - 1)
    _, found = followed(in_windows(("a", 695, 710)), Known(), rows, MANY - 1)
    assert [row for row in found if row["Kind"] == "deviation"] == [row for row in wanted if row["Kind"] == "deviation"]
    assert ("deviation", "a", "opened", 700) in brief(followed(settings(), Known(), rows, MANY - 1)[1])
    assert ("deviation", "a", "opened", 700) not in brief(found)
    assert ("deviation", "b", "opened", 650) in brief(followed(in_windows((".*", 660, 662)), Known(), rows, MANY - 1)[1])


def test_the_time_of_a_maintenance_window_does_not_count_for_a_silence():
    """The service stops within the window, and comes again after it, or it does not."""
    comes, stays = steady("a", *range(30)) + steady("b", *range(60)), steady("b", *range(60))
    again = comes + steady("a", *range(51, 60))
    assert brief(followed(settings(), Known(), by_time(again), 59)[1])[0] == ("silence", "a", "opened", 29 + SILENCE + 1)
    window = in_windows(("a", 28, 50))
    assert followed(window, Known(), by_time(again), 59)[1] == []
    # Half an hour passes before the window begins where it starts at 30, so four of the five that make a silence come after it.
    later = followed(in_windows(("a", 30, 50)), Known(), by_time(comes), 59)[1]
    assert brief(later) == [("silence", "a", "opened", 50 + SILENCE)]
    assert brief(followed(in_windows(("b", 28, 50)), Known(), by_time(comes), 59)[1]) == [
        ("silence", "a", "opened", 29 + SILENCE + 1)
    ]
    assert followed(window, Known(), stays, 59)[1] == []


def test_a_special_day_is_a_holiday_to_the_detector_if_it_is_declared_to_be_like_a_sunday():
    tuesday = MONDAY + DAY * HALF_HOUR
    at = np.array([MONDAY, tuesday], np.int64)
    for special, holidays, expected in [
        ({}, None, [False, False]),
        ({"2025-06-03": True}, None, [False, True]),
        ({"2025-06-03": False}, None, [False, False]),
        ({"2025-06-02": True}, "FR", [True, False]),
    ]:
        of = Settings.of(settings_of(FEED) | {"special_days": special, "holidays": holidays})
        assert readings_of(of, ["a"], ["a", "a"], at, at, np.ones(2)).holiday.tolist() == expected
    christmas = np.array([1_766_620_800_000])  # 25 December 2025
    for special, expected in [({}, True), ({"2025-12-25": False}, False)]:
        of = Settings.of(settings_of(FEED) | {"special_days": special, "holidays": "US"})
        assert readings_of(of, ["a"], ["a"], christmas, christmas, np.ones(1)).holiday.tolist() == [expected]
