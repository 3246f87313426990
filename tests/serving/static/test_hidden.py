"""A page that nobody sees does not ask again and again for what fails, in a real browser."""

import pytest

from tests.serving.conftest import CHROMIUM, declare_query, served
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden === true })"
LONGEST_PAUSE = 20_000  # milliseconds


def turn(page, hidden: bool) -> None:
    page.evaluate("(hidden) => { globalThis.isHidden = hidden; document.dispatchEvent(new Event('visibilitychange')); }", hidden)


def test_what_fails_is_asked_for_again_only_while_the_page_is_seen(page, offline, declared):
    declare_query(declared, "places", "app")
    asked = []
    refusal = {"title": "The table is too large for serving", "detail": "It needs more than 64 MB.", "remedy": "Read the topic."}
    page.route("**/rows?*", lambda route: (asked.append(route), route.fulfill(status=503, json=refusal)))
    page.add_init_script(HIDDEN)
    page.clock.install()
    with served(offline) as (url, _):
        page.goto(f"{url}/queries?query=places")
        until("it is asked for again", lambda: page.clock.run_for(1000) or len(asked) >= 2)
        turn(page, True)
        page.clock.run_for(LONGEST_PAUSE)  # the pause that goes on ends
        before = len(asked)
        for _ in range(4):
            page.clock.run_for(LONGEST_PAUSE)
            page.wait_for_timeout(100)
        assert len(asked) == before
        turn(page, False)
        until("it is asked for at once", lambda: page.wait_for_timeout(100) or len(asked) > before)
        page.unroute_all(behavior="ignoreErrors")
