"""What a message says in words, and where its link leads."""

import datetime as dt
from dataclasses import replace

import pytest

from serving.alerts.messages import Message, trial
from tests.serving.alerts.test_sending import MESSAGE

START = "2026-11-23T12:00:00.000Z"
DECIDED = 1_795_435_200_000  # noon of that day


def message(event: str = "opened", at: int = DECIDED, **fields) -> Message:
    said = {"Peak": 640.0, "PeakExpected": 5.87, "Start": START, "At": START, "End": None}
    return replace(MESSAGE, event=event, at=at, incident=MESSAGE.incident | said | fields)


def test_a_message_says_how_far_it_deviates():
    assert message().text.splitlines() == [
        "[error] f: a, unusual", "640 at its peak, 5.9 expected", "why", f"since {START}",
    ]  # fmt: skip
    assert message(Peak=12_345.6, PeakExpected=1000.0).text.splitlines()[1] == "12,346 at its peak, 1,000 expected"
    assert message(Peak=0.0, PeakExpected=7.0).text.splitlines()[1] == "0 at its peak, 7 expected"


@pytest.mark.parametrize("unknown", ["Peak", "PeakExpected"])
def test_one_without_a_peak_says_nothing_of_it(unknown):
    assert message(**{unknown: None}).text.splitlines() == ["[error] f: a, unusual", "why", f"since {START}"]


def test_while_an_incident_goes_on_the_link_leads_to_now():
    assert message().link("http://page") == "http://page/?feed=f&service=a"
    assert message(Kind="group", Services=3).link("http://page") == "http://page/?feed=f"


def test_the_link_of_one_that_is_over_or_of_old_readings_leads_to_its_time():
    over = message("closed", End="2026-11-23T14:00:00.000Z")
    half_a_day = "from=2026-11-23T00%3A00%3A00Z&to=2026-11-24T02%3A00%3A00Z"
    assert over.link("http://page") == f"http://page/?feed=f&service=a&{half_a_day}"
    old = message(Start="2022-10-01T09:00:00.000Z", At="2022-10-01T09:00:00.000Z")
    assert old.link("http://page").endswith("&from=2022-09-30T21%3A00%3A00Z&to=2022-10-01T21%3A00%3A00Z")
    long = message("closed", Start="2026-01-01T00:00:00.000Z", End="2026-11-01T00:00:00.000Z").link("http://page")
    assert long.endswith("&from=2026-09-28T06%3A00%3A00Z&to=2026-11-12T06%3A00%3A00Z")  # 45 days


def test_a_trial_has_both():
    opened, closed = trial("on-call", "target", dt.datetime.now(dt.UTC))
    assert opened.link("p") == "p/?feed=test&service=test"
    assert "&from=" in closed.link("p")
