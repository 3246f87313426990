"""The API by its own description: whatever is asked, the answer is one that /openapi.json declares, and never 'our fault'."""

import httpx2
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from schemathesis import GenerationMode

from serving.rows import FORMATS
from tests.serving.described import ENDLESS, OPERATIONS, PLAIN, plain, something

ACCEPTED = [*FORMATS, "*/*", "text/html"]
# What has rows, and the field that they are in; None: they are the body.
WITH_ROWS = {
    "/api/feeds": None,
    "/api/feeds/{feed}/services": None,
    "/api/feeds/{feed}/anomalies": None,
    "/api/feeds/{feed}/dead-letters": None,
    "/api/feeds/{feed}/incidents": None,
    "/api/feeds/{feed}/statements": None,
    "/api/feeds/{feed}/gate-results": None,
    "/api/feeds/{feed}/baseline": "history",
    "/api/feeds/{feed}/baseline/diff?from=0&to=1": None,
    "/api/feeds/{feed}/services/{service}/readings?minutes=60": None,
    "/api/feeds/{feed}/services/{service}/baseline": None,
    "/api/incidents": None,
    "/api/streams": None,
    "/api/queries": None,
    f"/api/queries/{{query}}/rows?topic={PLAIN}": "rows",
    "/api/fleet": "services",
    "/api/overview": "streams",
}


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    with something(tmp_path_factory.mktemp("described")) as made:
        yield made


def test_every_path_is_described(described):
    found = {(operation.ok().path, operation.ok().method.upper()) for operation in described.schema.get_all_operations()}
    assert found == {(plain(path), method) for path, method in [*OPERATIONS, (ENDLESS, "GET")]}


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@given(data=st.data())
def test_every_answer_is_as_described(described, path, method, data):
    operation = described.operation(path, method)
    varies = list(operation.iter_parameters()) or operation.body
    modes = list(GenerationMode) if varies else [GenerationMode.POSITIVE]
    case = data.draw(operation.as_strategy(generation_mode=data.draw(st.sampled_from(modes))))
    caller = data.draw(st.sampled_from([described.login, {}]), label="caller")
    try:
        answer = described.ask(case, caller, data.draw(st.sampled_from(ACCEPTED)))
    except httpx2.InvalidURL:  # longer than the client sends
        reject()
    assert answer.status_code < 500 or path.startswith("/api/queries/"), "only the registry does not answer"


@pytest.mark.parametrize(("asked", "field"), WITH_ROWS.items())
def test_rows_are_as_described(described, asked, field):
    answer = described.known(asked)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body if field is None else body[field]
