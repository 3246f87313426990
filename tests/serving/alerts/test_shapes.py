"""What each kind of target gets, whole."""

import datetime as dt
from dataclasses import replace

import orjson

from contracts.alerts import Target
from serving.alerts.mail import letter
from serving.alerts.shapes import request
from tests.serving.alerts.test_sending import MESSAGE

NOW = dt.datetime(2026, 11, 23, 12, 1, tzinfo=dt.UTC)
START, ALERT = "2026-11-23T12:00:00.000Z", MESSAGE.incident_key
TEXT = f"[error] f: a, unusual\nwhy\nsince {START}"
CLOSED = replace(MESSAGE, event="closed", incident=MESSAGE.incident | {"End": START})
ENV = {"SUNDIAL_ALERT_U": "https://there.test/x", "SUNDIAL_ALERT_K": "k"}


def sent(kind: str, message=MESSAGE, **fields):
    made = request(message, Target(kind=kind, **fields), ENV, "", NOW)
    return made.url, orjson.loads(made.body)


def test_slack():
    message = replace(MESSAGE, incident=MESSAGE.incident | {"Cause": "<a&b>"})
    assert sent("slack", message, url="SUNDIAL_ALERT_U") == (
        "https://there.test/x", {"text": TEXT.replace("why", "&lt;a&amp;b&gt;")},
    )  # fmt: skip


def test_pagerduty_opens_and_resolves_one_alert():
    url = "https://events.pagerduty.com/v2/enqueue"
    payload = {"summary": "[error] f: a, unusual", "source": "a", "severity": "error", "timestamp": START, "component": "f"}
    payload |= {"class": "deviation", "custom_details": {"cause": "why", "score": 2.5, "id": MESSAGE.id}}
    common = {"routing_key": "k", "dedup_key": ALERT}
    opened = common | {"event_action": "trigger", "payload": payload, "client": "Sundial"}
    assert sent("pagerduty", key="SUNDIAL_ALERT_K") == (url, opened)
    assert sent("pagerduty", CLOSED, key="SUNDIAL_ALERT_K") == (url, common | {"event_action": "resolve"})


def test_opsgenie_opens_and_closes_one_alert():
    url = "https://api.opsgenie.com/v2/alerts"
    details = {"feed": "f", "kind": "deviation", "id": MESSAGE.id}
    opened = {"message": "[error] f: a, unusual", "alias": ALERT, "description": TEXT, "priority": "P2", "source": "Sundial"}
    assert sent("opsgenie", key="SUNDIAL_ALERT_K") == (url, opened | {"entity": "a", "details": details})
    note = f"closed: {TEXT} until {START}"
    closing = (f"{url}/{ALERT}/close?identifierType=alias", {"source": "Sundial", "note": note})
    assert sent("opsgenie", CLOSED, key="SUNDIAL_ALERT_K") == closing


def test_alertmanager_fires_and_ends():
    labels = {"alertname": "SundialIncident", "route": "on-call", "severity": "error", "feed": "f", "service": "a"}
    labels |= {"kind": "deviation", "incident": "a@x"}
    fires = {"labels": labels, "annotations": {"summary": "[error] f: a, unusual", "description": TEXT}, "startsAt": START}
    fires["endsAt"] = "2026-12-23T12:01:00+00:00"
    assert sent("alertmanager", url="SUNDIAL_ALERT_U") == ("https://there.test/x/api/v2/alerts", [fires])
    _, [ended] = sent("alertmanager", CLOSED, url="SUNDIAL_ALERT_U")
    assert (ended["labels"], ended["endsAt"]) == (labels, NOW.isoformat())


def test_a_letter_has_the_messages_id():
    target = Target(kind="email", url="SUNDIAL_ALERT_U", sender="sundial@there.test", to=("a@b.test", "c@d.test"))
    made = letter(MESSAGE, target, "")
    assert (made["Subject"], made["From"], made["To"]) == ("[error] f: a, unusual", "sundial@there.test", "a@b.test, c@d.test")
    assert (made["Message-ID"], made["References"]) == (f"<{MESSAGE.id}@there.test>", f"<{ALERT}@there.test>")
    assert made.get_content() == f"{TEXT}\n"
