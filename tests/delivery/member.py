"""A member of a consumer group, as a process of its own: handles a topic's values and tells what it does in lines of JSON.

    python member.py BOOTSTRAP TOPIC SESSION_SECONDS

It commits every tenth record that it has handled, and what it has handled of a partition before it gives it up.
"""

import json
import signal
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException

COMMIT_EVERY = 10


def tell(**what) -> None:
    print(json.dumps(what), flush=True)


def main(bootstrap: str, topic: str, session_seconds: str) -> None:
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 1000 * int(session_seconds),
            "heartbeat.interval.ms": 500,
        }
    )

    def commit() -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._NO_OFFSET:  # nothing was handled since the last one
                raise

    def revoked(_, partitions) -> None:
        commit()
        tell(revoked=[each.partition for each in partitions])

    consumer.subscribe(
        [topic],
        on_assign=lambda _, partitions: tell(assigned=[each.partition for each in partitions]),
        on_revoke=revoked,
    )
    handled = 0
    while not stopped:
        message = consumer.poll(0.2)
        if message and not message.error():
            tell(handled=int(message.value()), partition=message.partition(), offset=message.offset())
            handled += 1
            if handled % COMMIT_EVERY == 0:
                commit()
    consumer.close()


main(*sys.argv[1:])
