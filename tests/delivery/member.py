"""A group's member, in a process of its own to be killed. It tells what it is given, reads and commits, a JSON line each."""

import json
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException

from stack.instance import ROOT

WORK = 0.02  # seconds between a record's reading and its commit


class Member:
    """Starts one, in a group that misses it 6 s after its death, the least that a broker takes."""

    def __init__(self, cluster, folder: Path, topic: str, name: str, **settings):
        own = {"bootstrap.servers": cluster.instance.kafka, "log_level": 0, "group.id": group(topic), "client.id": name}
        places = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "session.timeout.ms": 6000}
        self._told = folder / f"{name}.jsonl"
        with self._told.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.delivery.member", topic, json.dumps(own | places | settings)], cwd=ROOT, stdout=out
            )

    def told(self, what: str) -> list:
        """Whole lines: it may be writing one."""
        lines = self._told.read_text().split("\n")[:-1]
        return [said for each, said in map(json.loads, lines) if each == what]

    def has(self) -> set[int]:
        """The partitions that are its own now."""
        found = set()
        for what, said in map(json.loads, self._told.read_text().split("\n")[:-1]):
            if what == "given":
                found |= set(said)
            elif what == "taken":
                found -= set(said)
        return found

    def read(self) -> list[tuple[int, int]]:
        """Partition and offset of what it read, in that order."""
        return [tuple(each) for each in self.told("read")]

    def committed(self) -> list[tuple[int, int]]:
        return [tuple(each) for each in self.told("committed")]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def group(topic: str) -> str:
    return f"group of {topic}"


def tell(what: str, said: list[int]) -> None:
    print(json.dumps([what, said]), flush=True)


def main() -> None:
    consumer = Consumer(json.loads(sys.argv[2]))
    consumer.subscribe(
        [sys.argv[1]],
        on_assign=lambda _, given: tell("given", [each.partition for each in given]),
        on_revoke=lambda _, taken: tell("taken", [each.partition for each in taken]),
    )
    while True:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        place = [message.partition(), message.offset()]
        tell("read", place)
        time.sleep(WORK)
        consumer.commit(message, asynchronous=False)
        tell("committed", place)


if __name__ == "__main__":
    main()
