"""Alerts about what Airflow cannot fix by itself: one message to the webhook in SUNDIAL_ALERT_WEBHOOK.

The body is `{"text": ...}`, which Slack, Mattermost and most relays accept. The address is a secret, because anyone who has it
can post. If it is not set, the message goes to the log only.
"""

import asyncio
import logging
import os

import httpx
from airflow.sdk import BaseNotifier
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from contracts.alerts import WEBHOOK

log = logging.getLogger(__name__)


class Alert(BaseNotifier):
    """An alert as a notifier: for failure callbacks, deadlines and approvals.

    :param summary: what happened and what to do, in one line; templated if Airflow passes a context.
    """

    template_fields = ("summary",)

    def __init__(self, summary: str, context: dict | None = None):
        super().__init__(context)
        self.summary = summary

    def notify(self, context) -> None:
        tell(self.summary)

    async def async_notify(self, context) -> None:
        await asyncio.to_thread(tell, self.summary)


def tell(text: str) -> bool:
    """Post the text, with three tries; returns whether it was sent. An alert that cannot be sent is logged and raises nothing."""
    url = os.environ.get(WEBHOOK)
    if not url:
        log.warning("ALERT (%s is not set, so no message is sent): %s", WEBHOOK, text)
        return False
    try:
        _post(url, text)
    except httpx.HTTPError as error:
        # Not the error's own words, which name the address.
        log.error("ALERT could not be posted to the webhook (%s): %s", type(error).__name__, text)
        return False
    log.warning("ALERT: %s", text)
    return True


@retry(
    retry=retry_if_exception_type(httpx.HTTPError),
    stop=stop_after_attempt(3),
    wait=wait_exponential(max=4),
    reraise=True,
)
def _post(url: str, text: str) -> None:
    httpx.post(url, json={"text": text}, timeout=10).raise_for_status()
