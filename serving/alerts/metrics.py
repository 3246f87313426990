"""What the process of alerts does, as Prometheus metrics on a port of its own. They say as well whether it lives."""

import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from serving.alerts.ledger import Rows


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._turn = Gauge(
            "sundial_alerts_turn_timestamp_seconds", "When the process last came to its next turn", registry=self._registry
        )
        self._waiting = Gauge("sundial_alerts_waiting", "Messages that wait to be delivered", registry=self._registry)
        self._oldest = Gauge(
            "sundial_alerts_oldest_seconds", "How long the oldest of them waits; 0 if none does", registry=self._registry
        )
        self._attempts = Counter(
            "sundial_alerts_attempts", "Attempts to deliver, by outcome", ["route", "outcome"], registry=self._registry
        )
        self._given_up = Counter(
            "sundial_alerts_given_up", "Messages that became dead letters", ["route"], registry=self._registry
        )
        self._held = Gauge(
            "sundial_alerts_held", "1: its variables are not right, so its messages wait", ["reason"], registry=self._registry
        )

    def serve(self, host: str, port: int) -> None:
        start_http_server(port, host, self._registry)

    def turned(self, rows: Rows) -> None:
        now = time.time()
        self._turn.set(now)
        self._waiting.set(len(rows.messages))
        self._oldest.set(max((now - each.message.at / 1000 for each in rows.messages.values()), default=0))

    def held(self, reasons: Iterable[str]) -> None:
        self._held.clear()
        for reason in reasons:
            self._held.labels(reason).set(1)

    def attempted(self, route: str, outcome: str) -> None:
        self._attempts.labels(route, outcome).inc()

    def given_up(self, route: str) -> None:
        self._given_up.labels(route).inc()
