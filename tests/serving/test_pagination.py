"""Long answers come page by page: all rows once, whatever comes or goes meanwhile."""

import datetime as dt

import pytest

from serving.memory import Anomaly, Reading
from serving.pagination import encoded
from serving.rows import CSV, FORMATS
from tests.serving import world
from tests.serving.conftest import problem
from tests.serving.test_incidents import of

NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


def pages(client, path: str, **more) -> list[list]:
    """The rows of each page, following the links."""
    found, url = [], client.base_url.join(path)
    while url is not None:
        answer = client.get(url, **more)
        assert answer.status_code == 200, answer.text
        rows = answer.json()
        found.append(rows if isinstance(rows, list) else rows["history"])
        url = url.join(answer.links["next"]["url"]) if "next" in answer.links else None
    return found


def test_every_row_is_on_one_page(client, feed, lake):
    state, base = client.app.state.sundial, f"/api/feeds/{feed.name}"
    for number, service in enumerate(["a", "ü/&?#", "c", "d", "e"]):
        at = 1000 * (number // 2)  # two services share each instant
        state.memory.put_reading(feed.name, service, Reading(at, 90, 45.0, None, 200.0, True, 3))
        state.memory.put_anomaly(feed.name, Anomaly(service, at, 90, 45.0, None, 200.0, 3))
        state.incidents.put(feed.name, of(service, at))
        world.promote(lake, feed, {"a": 10.0}, days=[1], run_id=service)
        world.gate_result(lake, feed, service, True, [], NOON + dt.timedelta(microseconds=number // 2))
    names = {
        "services": ("name", ["a", "c", "d", "e", "ü/&?#"]),
        "anomalies": ("service", ["e", "c", "d", "a", "ü/&?#"]),
        "incidents": ("service", ["e", "c", "d", "a", "ü/&?#"]),
        "baseline": ("run_id", ["e", "d", "c", "ü/&?#", "a"]),
        "gate-results": ("run_id", ["e", "c", "d", "a", "ü/&?#"]),
    }
    for path, (name, rows) in names.items():
        found = pages(client, f"{base}/{path}?limit=2")
        assert [[row[name] for row in page] for page in found] == [rows[:2], rows[2:4], rows[4:]], path
        assert len(pages(client, f"{base}/{path}?limit=5")) == 1, "a full page is the last one where no row follows"


def test_the_baseline_in_force_is_on_every_page_of_its_history(client, feed, lake):
    for _ in range(3):
        world.promote(lake, feed, {"a": 10.0}, days=[1])
    path = f"/api/feeds/{feed.name}/baseline?limit=1"
    second = client.get(f"{path}&cursor={encoded((-2,))}").json()
    assert (second["version"], second["in_force"]["version"], [each["version"] for each in second["history"]]) == (2, 2, [1])


def test_a_row_that_comes_or_goes_moves_no_other_to_another_page(client, feed):
    state, path = client.app.state.sundial, f"/api/feeds/{feed.name}/incidents?limit=2"
    for start, service in ((5, "a"), (4, "b"), (3, "c"), (2, "d")):
        state.incidents.put(feed.name, of(service, 1000 * start))
    first = client.get(path)
    state.incidents.put(feed.name, of("new", 9000))
    state.incidents.forget(feed.name, of("b", 4000).id)  # the row that the cursor names
    second = client.get(first.url.join(first.links["next"]["url"])).json()
    assert [each["service"] for each in second] == ["c", "d"]


def test_a_link_keeps_the_other_parameters_and_every_format_has_it(client, feed):
    for number in range(4):
        client.app.state.sundial.incidents.put(feed.name, of("a b&c", 1000 * number, "closed" if number % 2 else "opened"))
    path, query = f"/api/feeds/{feed.name}/incidents", {"service": "a b&c", "open": "true", "limit": "1"}
    links = {client.get(path, params=query, headers={"Accept": each}).headers["link"] for each in FORMATS}
    (link,) = links
    assert link.startswith("<?service=a+b%26c&open=true&limit=1&cursor=")
    assert link.endswith('>; rel="next"')
    answer = client.get(path, params=query, headers={"Accept": CSV})
    following = client.get(answer.url.join(answer.links["next"]["url"]), headers={"Accept": "*/*"})
    assert [each["start"] for each in following.json()] == ["1970-01-01T00:00:00Z"]
    assert "link" not in following.headers


OTHERS = [encoded(("a", 1)), encoded((1, 2.5)), encoded((2**60, "a", "b"))]


@pytest.mark.parametrize("cursor", ["", "x", "é", "bnVsbA", *OTHERS])
def test_a_cursor_that_is_none_is_refused(client, feed, cursor):
    client.app.state.sundial.incidents.put(feed.name, of("a", 1000))
    answer = client.get(f"/api/feeds/{feed.name}/incidents", params={"cursor": cursor})
    assert problem(answer, 422, "invalid-parameter")["detail"].startswith("cursor: ")
