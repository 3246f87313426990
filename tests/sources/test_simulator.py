"""A simulated fleet: deterministic, of the shape it promises, and wrong exactly where its labels say so."""

import datetime as dt
import itertools
import json
import zoneinfo

import numpy as np
import pyarrow.parquet as parquet
import pytest

from contracts.feeds import load_feed
from sources.capture import BadRows, Capture
from sources.readings import READINGS, milliseconds
from sources.services import Service, service_names
from sources.simulated_incidents import Incident, IncidentError, draw_incidents, parse_incident
from sources.simulator import Simulation, write

FEED = load_feed("service-use")  # America/New_York, US holidays
HOURLY = load_feed("road-traffic")  # America/Chicago
DAY = 86_400_000


def at(text: str, zone: str = "America/New_York") -> int:
    return round(dt.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone)).timestamp() * 1000)


def series(simulation: Simulation, service: str, start: int, end: int) -> dict[int, int]:
    rows = {}
    for each in simulation.readings(start, end):
        own = each.filter(np.array(each["ServiceName"].to_pylist()) == service)
        rows |= dict(zip(milliseconds(own).tolist(), own["Value"].to_pylist(), strict=True))
    return rows


def test_one_reading_per_service_and_interval_in_order_of_time():
    simulation = Simulation(FEED, ["a", "b"], 1)
    start, end = at("2026-11-18T22:00"), at("2026-11-20T01:00")
    batches = list(simulation.readings(start, end))
    assert all(each.schema == READINGS for each in batches)
    assert [name for each in batches for name in each["ServiceName"].to_pylist()][:4] == ["a", "b", "a", "b"]
    times = np.concatenate([milliseconds(each) for each in batches])
    assert times.tolist() == np.repeat(np.arange(start, end, 10_000), 2).tolist()


@pytest.mark.parametrize(("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-11-02", 24)])
def test_local_days_have_the_hours_that_their_clock_gives_them(day, hours):
    first = at(f"{day}T00:00", "America/Chicago")
    ((date, readings),) = Simulation(HOURLY, ["a"]).days(first, first + hours * 3_600_000)
    assert (date.isoformat(), readings.num_rows) == (day, hours)


def test_a_reading_follows_from_seed_service_and_date_alone():
    start = at("2026-11-18T00:00")
    whole = series(Simulation(FEED, service_names(5), 7), "search", start, start + 2 * DAY)
    assert series(Simulation(FEED, ["search"], 7), "search", start + DAY + 10_000, start + 2 * DAY) == {
        time: value for time, value in whole.items() if time >= start + DAY + 10_000
    }
    assert series(Simulation(FEED, ["search"], 8), "search", start, start + 2 * DAY) != whole


def daily_sums(service: str, days: list[str], seed: int = 7) -> list[int]:
    simulation = Simulation(FEED, [service], seed)
    return [sum(series(simulation, service, at(f"{day}T00:00"), at(f"{day}T00:00") + DAY).values()) for day in days]


def test_a_holiday_looks_like_a_sunday_and_not_like_its_weekday():
    thursday, thanksgiving, sunday = daily_sums("search", ["2026-11-19", "2026-11-26", "2026-11-29"])
    assert abs(thanksgiving / sunday - 1) < 0.02
    expected = Service.drawn(7, "search").sunday
    assert thanksgiving / thursday == pytest.approx(expected, rel=0.15)


def test_traffic_grows_by_the_services_rate_each_week():
    weeks = daily_sums("search", ["2026-08-05", "2026-10-14"])  # Wednesdays, ten weeks apart
    assert weeks[1] / weeks[0] == pytest.approx((1 + Service.drawn(7, "search").growth) ** 10, rel=0.002)


def test_the_day_peaks_where_the_service_peaks_on_the_local_clock_in_summer_and_winter():
    service = Service.drawn(7, "search")
    for day in ("2026-07-15", "2026-11-18"):
        rows = series(Simulation(FEED, ["search"], 7), "search", at(f"{day}T00:00"), at(f"{day}T00:00") + DAY)
        hours = np.array(list(rows.values())).reshape(24, -1).mean(axis=1)
        assert abs(hours[:18].argmax() + 0.5 - service.peak) < 1.5
        assert hours[2:5].mean() < 0.6 * hours.max()


def test_noise_is_more_than_poisson_and_as_much_as_the_service_is_restless():
    service, day = Service.drawn(7, "search"), dt.date(2026, 11, 18)
    mean = np.full(50_000, 1000.0)
    spread = service.readings(mean, 7, day).std() / 1000
    assert spread == pytest.approx(np.sqrt(service.unrest**2 + 1 / 1000), rel=0.05)


INCIDENT_START = at("2026-11-18T23:50")


@pytest.mark.parametrize("kind", ["outage", "surge", "slow-leak", "stuck"])
def test_an_incident_changes_its_span_as_it_should_and_nothing_else(kind):
    incident = Incident("a", kind, INCIDENT_START, INCIDENT_START + 1_200_000)  # over midnight
    start = at("2026-11-18T20:00")
    normal = series(Simulation(FEED, ["a", "b"], 7), "a", start, start + DAY)
    made = Simulation(FEED, ["a", "b"], 7, [incident])
    changed = series(made, "a", start, start + DAY)
    assert series(made, "b", start, start + DAY) == series(Simulation(FEED, ["b"], 7), "b", start, start + DAY)
    assert {t: v for t, v in changed.items() if not incident.start <= t < incident.end} == {
        t: v for t, v in normal.items() if not incident.start <= t < incident.end
    }
    inside = [(normal[t], changed[t]) for t in changed if incident.start <= t < incident.end]
    assert len(inside) == 120
    expected = {
        "outage": [0] * 120,
        "surge": [round(was * 2.5) for was, _ in inside],
        "slow-leak": [round(was * (1 - 0.7 * step / 120)) for step, (was, _) in enumerate(inside)],
        "stuck": [normal[incident.start - 10_000]] * 120,
    }[kind]
    assert [now for _, now in inside] == pytest.approx(expected, abs=0.51)


def test_labels_are_records_of_text():
    label = Incident("a", "outage", at("2026-11-18T10:00"), at("2026-11-18T10:05")).label()
    expected = {"service": "a", "kind": "outage", "start": "2026-11-18T15:00:00+00:00", "end": "2026-11-18T15:05:00+00:00"}
    assert label == expected


def test_incidents_as_typed():
    now = at("2026-11-18T10:00") + 1
    found = parse_incident("slow-leak@check+out+2m..5m", now, ["check+out"], 10)
    assert found == Incident("check+out", "slow-leak", at("2026-11-18T10:02:10"), at("2026-11-18T10:07:10"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("outage@a", "is not KIND@SERVICE"),
        ("outage@a+2m..5x", "is not KIND@SERVICE"),
        ("fire@a+2m..5m", "no incident 'fire': one of outage, surge, slow-leak, stuck"),
        ("outage@z+2m..5m", "no service 'z' in this fleet: a, b"),
    ],
)
def test_incidents_mistyped(spec, message):
    with pytest.raises(IncidentError) as error:
        parse_incident(spec, 0, ["a", "b"], 10)
    assert message in str(error.value)


def test_an_incident_of_a_stranger_is_refused():
    with pytest.raises(IncidentError, match="not in the fleet: z"):
        Simulation(FEED, ["a"], 1, [Incident("z", "outage", 0, 1)])


def test_drawn_incidents_are_repeatable_aligned_and_never_two_at_once():
    start, end = at("2026-10-01T00:00"), at("2026-11-18T00:00")
    drawn = draw_incidents(["a", "b", "c"], start, end, 5, 20, 10)
    assert drawn == draw_incidents(["a", "b", "c"], start, end, 5, 20, 10)
    assert 300 < len(drawn) < 420  # 3 services, 6.9 weeks, 20 a week; the few that would overlap are left out
    assert {incident.kind for incident in drawn} == {"outage", "surge", "slow-leak", "stuck"}
    assert all(incident.start % 10_000 == 0 and start <= incident.start < incident.end <= end for incident in drawn)
    for service in "abc":
        own = [incident for incident in drawn if incident.service == service]
        assert all(one.end < other.start for one, other in itertools.pairwise(own))


def test_written_parquet_is_a_capture_of_the_same_readings(tmp_path):
    start, end = at("2026-11-18T20:00"), at("2026-11-19T04:00")
    simulation = Simulation(FEED, ["a", "b"], 7, [Incident("a", "outage", start, start + 60_000)])
    assert write(simulation, start, end, tmp_path / "fleet") == 2 * 8 * 360
    assert sorted(path.name for path in (tmp_path / "fleet").iterdir()) == ["Date=2026-11-18", "Date=2026-11-19", "labels.json"]
    assert parquet.read_schema(tmp_path / "fleet/Date=2026-11-18/readings.parquet").equals(READINGS)
    assert json.loads((tmp_path / "fleet/labels.json").read_text()) == simulation.labels()
    bad = BadRows()
    read = [row for each in Capture(tmp_path / "fleet", FEED).readings(bad) for row in each.to_pylist()]
    assert read == [row for each in simulation.readings(start, end) for row in each.to_pylist()]
    assert bad.count == 0


def test_five_weeks_of_ten_services_are_complete():
    start = at("2026-10-14T00:00")
    rows = sum(each.num_rows for each in Simulation(FEED, service_names(10), 1).readings(start, start + 35 * DAY))
    assert rows == 10 * 35 * 8640
