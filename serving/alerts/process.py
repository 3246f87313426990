"""The process that notifies people of incidents. One turn: read records, decide, keep what was decided, deliver.

What a turn has read and decided is one transaction: either the next process finds both, or it reads and decides the same again. A
message is sent after that; that it was taken is kept in the next transaction. A kill in between sends it again, with the same id.
If Kafka does not keep it, the process ends: the next one goes on from what was kept.
"""

import datetime as dt
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from contracts import exclusions
from contracts.alerts import ALERTS, Target
from serving.alerts import ledger, messages, sending
from serving.alerts.decisions import Known, decided, seen
from serving.alerts.declared import Declared
from serving.alerts.ledger import Ledger, Position, Rows
from serving.alerts.metrics import Metrics
from serving.alerts.outbox import Limits, Waiting, after, to_try
from serving.alerts.outcome import Outcome
from serving.alerts.reading import Reading
from serving.partitions import Place
from serving.tables import Tables

log = logging.getLogger("serving.alerts")
DISCOVER_SECONDS = 5.0  # how often files and topics are looked at
TICK_SECONDS = 1.0  # how often the clock is asked whether something is due
FORGET_SECONDS = 3600.0  # how often old incidents are looked for
FORGOTTEN_AFTER = 45  # days, of incidents of a feed that is not declared any more
THREADS = 64
LIMITS = Limits()
Attempt = Callable[[messages.Message, Target, Mapping[str, str], str], Outcome]


class Process:
    """`client`: options by which a client finds Kafka. `tables`: those with people's statements. `page`: address of the
    dashboard, or empty. Raises LedgerError."""

    def __init__(
        self,
        client: Mapping[str, Any],
        registry: str,
        declared: Declared,
        tables: Tables,
        page: str = "",
        limits: Limits = LIMITS,
    ):
        self.stop, self.metrics = threading.Event(), Metrics()
        self._declared, self._tables, self._page, self._limits = declared, tables, page, limits
        self._attempt: Attempt = sending.attempt
        self._ledger, self._reading = Ledger(client), Reading(client, registry, self.stop)
        self._rows = Rows()
        self._rows_ahead: dict[str, Any] = {}  # changed in this turn, by key
        self._dead: list[tuple[str, Any, str]] = []
        self._tried: set[str] = set()
        self._outcomes: queue.SimpleQueue[tuple[str, Outcome]] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="deliver")

    def run(self) -> None:
        """Until `stop` is set; messages that are being sent then are waited for. Raises LedgerError or KafkaException."""
        end = ledger.read_whole(self._reading.consumer, ALERTS.name, self._take_row)
        self._live = {each for each, known in self._rows.incidents.items() if _may_be_due(known)}
        for id_, waiting in self._rows.messages.items():
            self._rows.messages[id_] = replace(waiting, due=0)  # a start may be with what a target lacked
        self._number = max((each.number for each in self._rows.messages.values()), default=0)
        self._reading.follow(end)
        log.info("%d incidents are known, %d messages wait", len(self._rows.incidents), len(self._rows.messages))
        due = dict.fromkeys((self._discover, self._tick, self._forget), 0.0)
        every = {self._discover: DISCOVER_SECONDS, self._tick: TICK_SECONDS, self._forget: FORGET_SECONDS}
        while not self.stop.is_set():
            for what, at in due.items():
                if time.monotonic() >= at:
                    what()
                    due[what] = time.monotonic() + every[what]
            for message in self._reading.come():
                self._take(message)
            self._note_outcomes()
            self._commit()
            self._deliver()
            self.metrics.turned(self._rows)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._note_outcomes()
        self._commit()
        self._reading.consumer.close()

    def _take_row(self, message: Message) -> None:
        self._rows.take((message.key() or b"").decode(), message.value())

    def _discover(self) -> None:
        self._declared.look()
        self.metrics.held(self._declared.held)
        try:
            self._rows.positions |= self._reading.discover(self._declared.feeds, self._rows.positions)
        except KafkaException as error:  # brokers that are away for a while may come back
            log.warning("Kafka: %s; trying again", error.args[0].str())

    def _take(self, message: Message) -> None:
        """A record of incidents, a row that a person wrote, or the end of a partition."""
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            log.warning("%s: %s", message.topic(), error.str())
            if error.fatal():
                raise KafkaException(error)
        elif place[0] == ALERTS.name:
            if error is None and ledger.asked(message):
                self._take_row(message)
        elif place in self._rows.positions:  # else its topic is gone
            self._take_incident(place, message, at_end=error is not None)

    def _take_incident(self, place: Place, message: Message, at_end: bool) -> None:
        position = self._rows.positions[place]
        if at_end:
            if not position.caught_up:
                self._put_position(place, replace(position, offset=message.offset(), caught_up=True))
            return
        if found := self._reading.incident(message):
            feed, incident = found
            before = self._rows.incidents.get((feed, incident["Id"]))
            self._keep(before, seen(before, feed, incident, message.timestamp()[1]))
        self._put_position(place, replace(position, offset=message.offset() + 1))

    def _put_position(self, place: Place, position: Position) -> None:
        self._rows.positions[place] = position
        self._rows_ahead[ledger.position_row(place)] = vars(position)

    def _tick(self) -> None:
        """Decide what is due: an opening or a closing, what waited for its time, escalations, reminders.

        Records are decided on here alone. So an incident of the past, whose closing comes with its opening, is over before
        anybody is notified of it.
        """
        feeds = self._reading.feeds_caught_up(self._rows.positions)
        for each in [each for each in self._live if each[0] in feeds]:
            known = self._rows.incidents[each]
            silences = self._rows.silences.values()
            after, notified = decided(self._declared.routes, known, _now(), self._attended(known), silences)
            self._keep(known, after)
            for message in notified:
                self._number += 1
                self._put(Waiting(message, self._number))

    def _keep(self, before: Known | None, known: Known) -> None:
        if known is before:
            return
        each = known.feed, known.incident["Id"]
        self._rows.incidents[each] = known
        self._rows_ahead[ledger.incident_row(*each)] = known.as_json()
        self._live.add(each) if _may_be_due(known) else self._live.discard(each)

    def _attended(self, known: Known) -> bool:
        feed, incident = self._declared.feeds.get(known.feed), known.incident
        if feed is None or known.closed is not None:
            return False
        start = dt.datetime.fromisoformat(incident["Start"])
        said = self._tables.statements(feed)
        return exclusions.attended(said, incident["Id"], incident["ServiceName"], start, incident["Group"])

    def _forget(self) -> None:
        """Closed incidents that their own topic no longer has: no record of them can come again. And silences that are over."""
        feeds, day = self._declared.feeds, 86_400_000
        for each, known in list(self._rows.incidents.items()):
            days = feeds[known.feed].retention_days if known.feed in feeds else FORGOTTEN_AFTER
            since = known.closed or (None if known.feed in feeds else known.since)
            if since is not None and _now() - since > (days + 1) * day:
                del self._rows.incidents[each]
                self._live.discard(each)
                self._rows_ahead[ledger.incident_row(*each)] = None
        for id_ in [id_ for id_, each in self._rows.silences.items() if each.until.timestamp() * 1000 < _now()]:
            del self._rows.silences[id_]
            self._rows_ahead[ledger.silence_row(id_)] = None

    def _put(self, waiting: Waiting) -> None:
        self._rows.messages[waiting.message.id] = waiting
        self._rows_ahead[ledger.message_row(waiting.message.id)] = waiting.as_json()

    def _note_outcomes(self) -> None:
        while not self._outcomes.empty():
            id_, outcome = self._outcomes.get()
            self._tried.discard(id_)
            if (waiting := self._rows.messages.get(id_)) is not None:
                self._note(waiting, outcome)

    def _note(self, waiting: Waiting, outcome: Outcome) -> None:
        message, what = waiting.message, waiting.name
        self.metrics.attempted(message.route, outcome.what)
        on = None if outcome.what == "taken" else after(waiting, outcome, _now(), self._limits)
        if on is not None:
            log.warning("%s: %s; trying again in %.0f s", what, outcome.reason, (on.due - _now()) / 1000)
            self._put(on)
            return
        if outcome.what == "taken":
            log.info("%s: sent (%s)", what, outcome.reason)
        else:
            log.error("%s: given up: %s; sundial alerts retry", what, outcome.reason)
            self.metrics.given_up(message.route)
            self._dead.append((message.id, waiting.as_json(), outcome.reason))
        self._drop(waiting)

    def _drop(self, waiting: Waiting) -> None:
        del self._rows.messages[waiting.message.id]
        self._rows_ahead[ledger.message_row(waiting.message.id)] = None

    def _commit(self) -> None:
        if self._rows_ahead or self._dead:
            self._ledger.commit(self._rows_ahead, self._dead)
            self._rows_ahead, self._dead = {}, []

    def _deliver(self) -> None:
        """Only what is kept already: what is decided again after a kill is then the same."""
        for waiting in to_try(self._rows.messages.values(), self._tried, _now()):
            if self._is_over(waiting):
                log.info("%s: not sent: the incident is over, and the receiver has its closing", waiting.name)
                self._drop(waiting)
                continue
            self._tried.add(waiting.message.id)
            self._pool.submit(self._try, waiting)

    def _is_over(self, waiting: Waiting) -> bool:
        """Whether nothing would close what the message opens. A person may ask for one of long ago to be tried again."""
        message = waiting.message
        known = self._rows.incidents.get((message.feed, message.incident["Id"]))
        notified = known and known.notified.get(message.route)
        if message.event == "closed" or (notified and notified.closed is None):
            return False
        return not any(each.lane == waiting.lane and each.message.event == "closed" for each in self._rows.messages.values())

    def _try(self, waiting: Waiting) -> None:
        message = waiting.message
        route = self._declared.routes.get(message.route)
        target = route.targets.get(message.to) if route else None
        if target is None:
            outcome = Outcome("refused", f"no route {message.route} with {message.to} is declared any more")
        else:
            outcome = self._attempt(message, waiting.at(target), self._declared.secrets, self._page)
        self._outcomes.put((message.id, outcome))


def _may_be_due(known: Known) -> bool:
    return known.closed is None or any(notified.closed is None for notified in known.notified.values())


def _now() -> int:
    return round(time.time() * 1000)
