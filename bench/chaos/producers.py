"""Producers: one thread for each topic, at an even rate. What they send is in their ledgers."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaException, Producer

from bench.chaos.ledger import Ledger
from bench.chaos.records import LARGEST, Draft

TICK = 0.1  # seconds
PATIENCE = 600.0  # seconds until the broker must have acknowledged a record
TRANSACTION_EVERY, IN_TRANSACTION = 15.0, 10  # seconds; records
OPTIONS = {
    "acks": "all",
    "enable.idempotence": True,
    "message.timeout.ms": int(PATIENCE * 1000),
    "message.max.bytes": LARGEST + 10_000,
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "log_level": 0,
}


class Load:
    """Sends drafts to one topic until it is stopped. draw(n): the next n of them."""

    def __init__(self, kafka: str, topic: str, rate: float, draw: Callable[[int], Sequence[Draft]], seed: int):
        self.topic, self.ledger = topic, Ledger()
        self._rate, self._draw = rate, draw
        self._producer = Producer(OPTIONS | {"bootstrap.servers": kafka})
        self._transactions = Transactions(kafka, topic, self, seed)
        self._lock = threading.Lock()  # a person sends corrections by the same ledger
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"load of {topic}", daemon=True)
        self.error: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Raises what the thread ended with, and RuntimeError where records were never acknowledged."""
        self._stop.set()
        self._thread.join()
        if self.error:
            raise self.error
        if left := self._producer.flush(PATIENCE):
            raise RuntimeError(f"{left} records of {self.topic} were never acknowledged")

    def send(self, drafts: Sequence[Draft]) -> None:
        with self._lock:
            for draft in drafts:
                self._produce(self._producer, draft, transactional=False)

    def send_in_transaction(self, producer: Producer, drafts: Sequence[Draft]) -> None:
        with self._lock:
            for draft in drafts:
                self._produce(producer, draft, transactional=True)

    def drawn(self, count: int) -> Sequence[Draft]:
        return self._draw(count)

    def _run(self) -> None:
        try:
            began, sent, transaction = time.monotonic(), 0, TRANSACTION_EVERY
            while not self._stop.is_set():
                due = int((time.monotonic() - began) * self._rate) - sent
                self.send(self._draw(min(due, int(self._rate) + 1)))
                sent += due  # after a stall the rest is left out, as a live source would
                if time.monotonic() - began > transaction:
                    self._transactions.one()
                    transaction += TRANSACTION_EVERY
                time.sleep(TICK)
            self._transactions.end()
        except Exception as error:  # the run reports it
            self.error = error

    def _produce(self, producer: Producer, draft: Draft, transactional: bool) -> None:
        number = self.ledger.sends(draft, transactional)
        while True:
            try:
                producer.produce(self.topic, draft.value, draft.key, on_delivery=partial(self._delivered, number))
                producer.poll(0)
                return
            except BufferError:  # the broker is away
                producer.poll(0.5)

    def _delivered(self, number: int, error, message) -> None:
        if error is None:
            _, taken = message.timestamp()  # of the broker, as its topics have LogAppendTime
            self.ledger.acknowledged(number, message.partition(), message.offset(), taken)
        else:
            self.ledger.failed += 1


class Transactions:
    """Some of a topic's records in transactions, of which every other is aborted. The topic says what was committed."""

    def __init__(self, kafka: str, topic: str, load: Load, seed: int):
        self._chance, self._load = random.Random(f"{seed} transactions of {topic}"), load
        more = {"bootstrap.servers": kafka, "transactional.id": f"chaos-{topic}", "transaction.timeout.ms": 60_000}
        self._options = OPTIONS | more | {"message.timeout.ms": 50_000}
        self._producer: Producer | None = None

    def one(self) -> None:
        """A whole transaction. Where the broker is away, its end is unknown: the next one begins with a new producer."""
        commits, drafts = self._chance.random() < 0.5, self._load.drawn(IN_TRANSACTION)
        try:
            if self._producer is None:
                self._producer = Producer(self._options)
                self._producer.init_transactions(30)
            self._producer.begin_transaction()
            self._load.send_in_transaction(self._producer, drafts)
            self._producer.flush(30)
            if commits:
                self._producer.commit_transaction(30)
            else:
                self._producer.abort_transaction(30)
        except KafkaException:
            self._producer = None

    def end(self) -> None:
        """What an earlier transaction left open is aborted: it would hide what comes behind it for a minute."""
        if self._producer is None:
            Producer(self._options).init_transactions(PATIENCE)
