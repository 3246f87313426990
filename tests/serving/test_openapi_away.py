"""Where Kafka, the registry, Airflow and the lake's tables do not answer, each answer is one that /openapi.json declares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.serving.described import OPERATIONS, PLAIN, Described, nothing
from tests.support.waiting import until

TABLE = f"/api/queries/{{query}}/rows?topic={PLAIN}"
KAFKA = ("/api/feeds/{feed}/dead-letters", TABLE)
LAKE = (
    "/api/feeds/{feed}/baseline",
    "/api/feeds/{feed}/baseline/diff?from=0&to=1",
    "/api/feeds/{feed}/gate-results",
    "/api/feeds/{feed}/services/{service}/baseline",
    "/api/feeds/{feed}/services/{service}/readings?minutes=60",
    "/api/feeds/{feed}/services/{service}/series?minutes=60",
)
AIRFLOW = {
    "/api/feeds/{feed}/statements": {"verdict": "acknowledge", "incident": "a@1", "reason": "a test"},
    "/api/feeds/{feed}/baseline/rollback": {"version": 0, "reason": "a test"},
    "/api/feeds/{feed}/gate-results/{run}/answer": {"approve": True, "reason": "a test"},
    "/api/feeds/{feed}/dead-letters/replay": {"reason": ""},
    "/api/feeds/{feed}/stream": {"on": True},
    "/api/applications/{application}/stream": {"on": False},
    "/api/acts/{dag}/{run}": None,
}
REFUSED = dict.fromkeys(KAFKA, "no-kafka") | dict.fromkeys(LAKE, "no-lake") | dict.fromkeys(AIRFLOW, "no-airflow")
STILL_THERE = (
    "/api/feeds",
    "/api/feeds/{feed}/services",
    "/api/feeds/{feed}/anomalies",
    "/api/feeds/{feed}/incidents",
    "/api/incidents",
)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    with nothing(tmp_path_factory.mktemp("away")) as made:
        yield made


@pytest.mark.parametrize(("asked", "kind"), REFUSED.items())
def test_what_needs_it_is_refused_with_what_is_away(described: Described, asked, kind):
    body = AIRFLOW.get(asked)
    if asked == TABLE:
        until("the table is given up", lambda: described.known(asked).json()["type"] != "sundial:loading")
    answer = described.known(asked, body)
    assert (answer.status_code, answer.json()["type"]) == (503, f"sundial:{kind}")
    assert answer.json()["remedy"]


@pytest.mark.parametrize("asked", STILL_THERE)
def test_what_is_in_memory_is_there(described: Described, asked):
    answer = described.known(asked)
    assert (answer.status_code, bool(answer.json())) == (200, True)


@pytest.mark.full
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@given(data=st.data())
def test_every_answer_is_as_described(described: Described, path, method, data):
    case = data.draw(described.operation(path, method).as_strategy(generation_mode=GenerationMode.POSITIVE))
    described.ask(case, described.login)
