"""A page on which an operator can do everything, and an Airflow that does it."""

import dataclasses

import pytest

from contracts.users import Users
from tests.serving import world
from tests.serving.conftest import NASTY, served
from tests.serving.static.operator.airflow import AT, Airflow, listening
from tests.serving.test_incidents import of


@pytest.fixture(params=[1300, pytest.param(360, marks=pytest.mark.full)])
def page(page, request):
    """On a screen and on a phone."""
    page.set_viewport_size({"width": request.param, "height": 800})
    return page


@pytest.fixture
def airflow(lake, feed):
    return Airflow(lake, feed)


@pytest.fixture
def site(site_and_state):
    """The page of service a, which has a closed incident, beside another service with an open one; two versions of a baseline,
    and a refused candidate; and the tokens of an operator and of a viewer."""
    return site_and_state[0]


@pytest.fixture
def site_and_state(offline, feed, lake, tmp_path, airflow):
    """What `site` is, and the state of serving."""
    users, operator = Users({}).added("olga", "operator", AT, None)
    users, viewer = users.added("victor", "viewer", AT, None)
    (tmp_path / "users.json").write_text(users.text())
    world.promote(lake, feed, {"a": 10.0}, run_id="night-0", candidate_version=1)
    world.promote(lake, feed, {"a": 11.0}, run_id="night-1", candidate_version=2)
    world.gate_result(lake, feed, "night-2", False, [world.expectation(success=False)], AT)
    with listening(airflow.app) as address:
        access = {"users": tmp_path / "users.json", "airflow": address, "airflow_user": "admin", "airflow_password": "p"}
        with served(dataclasses.replace(offline, **access)) as (url, state):
            start = round(AT.timestamp() * 1000)
            state.incidents.put(feed.name, dataclasses.replace(of("a", start), state="closed", end=start + 600_000))
            state.incidents.put(feed.name, of(NASTY, start))
            yield (f"{url}/?feed={feed.name}&service=a", operator, viewer), state
