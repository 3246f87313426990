"""The topics that a query reads: that it can go on where it was in them, and that they stay the same topics while it runs."""

from collections.abc import Iterable
from typing import Protocol

from contracts.feeds import Feed
from contracts.queries import Query
from jobs.backends import continuity
from jobs.backends.continuity import Position
from jobs.backends.settings import Platform
from jobs.backends.topics import Topic, Topics, topic_now
from jobs.errors import JobError
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.generations import Generations


class Kept(Protocol):
    """What is kept on disk of how far a reader has come."""

    def position(self, topic: str) -> Position: ...

    def note(self, topics: list[Topic]) -> None: ...

    def go_on_at(self, topic: Topic, offsets: dict[int, int]) -> None: ...


class TopicsRead:
    """Of one reader. remedy: what people are told to do if it can't go on. cores: of a query in real-time mode, if known."""

    def __init__(self, platform: Platform, names: Iterable[str], kept: Kept, remedy: str, cores: int | None = None):
        self._platform, self._names, self._kept = platform, sorted(set(names)), kept
        self._remedy, self._cores = remedy, cores
        self._topics = Topics(platform, self._names)
        self._ids: dict[str, str] = {}
        self.few_cores: str | None = None  # why readings wait at each handover, as far as that is known

    def begin(self) -> list[Topic]:
        """Before a query starts: the topics as they are now. Raises JobError where it can't read all that is not read yet."""
        now = self._now()
        self._refuse(self._gaps(now))
        self._kept.note(now)
        self._ids = {topic.name: topic.id for topic in now}
        self.look()
        return now

    def same(self) -> list[Topic]:
        """While a query runs: the topics as they are now. Raises JobError where one is not the topic of `begin` any more."""
        self._topics.described()  # a broker that is silent says so sooner here
        now = self._now()
        self._refuse_other({topic.name: topic.id for topic in now})
        return now

    def look(self) -> None:
        """While the query runs. Raises JobError where a topic was deleted and made anew, as Spark would go on at the old offsets,
        or where a partition has no core; `few_cores` warns where one has no second core. A broker that is silent, or a topic that
        is just missing, is no reason to stop."""
        try:
            now = self._topics.described()
        except JobError:
            return
        self._refuse_other({name: topic.id for name, topic in now.items()})
        for name, topic in now.items():
            if self._cores and topic.partitions > self._cores / 2:
                self._judge_cores(name, topic.partitions, self._cores)

    def lost(self) -> list[str]:
        """What the query can't read any more; empty if it can go on."""
        return self._gaps(self._now())

    def skip_lost(self) -> list[str]:
        """Have the query, which must not run, go on with what the topics hold. Returns what is lost; empty if nothing is."""
        lost = []
        for name in self._names:
            topic, reached = topic_now(self._platform, name), self._kept.position(name)
            if gaps := continuity.gaps(topic, reached):
                self._kept.go_on_at(topic, continuity.after_gaps(topic, reached))
                lost += gaps
        return lost

    def _now(self) -> list[Topic]:
        return [topic_now(self._platform, name) for name in self._names]

    def _gaps(self, now: list[Topic]) -> list[str]:
        return [gap for topic in now for gap in continuity.gaps(topic, self._kept.position(topic.name))]

    def _judge_cores(self, name: str, partitions: int, cores: int) -> None:
        """Of fewer than two for each partition. Raises JobError where one has none."""
        has = f"topic {name} has {partitions} partitions, and this stream has {cores} cores"
        declared = f"declare partitions: {partitions} in schemas/feeds/{name}.yaml"
        enough = f"{declared} (on YARN and Kubernetes, increase spark.executor.instances), then start the stream again"
        if partitions > cores:
            raise JobError(f"{has}, but each partition needs one: {enough}")
        few = f"{has}, so readings wait at each handover, which needs two for each partition: {enough}"
        if self.few_cores != few:
            self.few_cores = few
            print(few, flush=True)

    def _refuse_other(self, ids: dict[str, str]) -> None:
        self._refuse([f"topic {name} was deleted and made anew" for name, id_ in ids.items() if id_ != self._ids[name]])

    def _refuse(self, lost: list[str]) -> None:
        if lost:
            raise JobError(f"{'; '.join(lost)}; {self._remedy}")


class KeptByQuery:
    """In the checkpoint of a query that Spark goes on with by itself."""

    def __init__(self, checkpoint: Checkpoint):
        self._checkpoint = checkpoint

    def position(self, topic: str) -> Position:
        reached = self._checkpoint.reached() or {}
        return Position(reached.get(topic, {}), self._checkpoint.topic_ids.get(topic, ""))

    def note(self, topics: list[Topic]) -> None:
        self._checkpoint.note_topic_ids({topic.name: topic.id for topic in topics})

    def go_on_at(self, topic: Topic, offsets: dict[int, int]) -> None:
        self._checkpoint.go_on_at(topic.name, offsets)
        self._checkpoint.note_topic_ids(self._checkpoint.topic_ids | {topic.name: topic.id})


def of_feed(platform: Platform, feed: Feed, generations: Generations, cores: int | None = None) -> TopicsRead:
    return TopicsRead(platform, [feed.topic], generations, continuity.remedy_of_feed(feed.name), cores)


def of_query(platform: Platform, query: Query, checkpoint: Checkpoint) -> TopicsRead:
    names = [each.topic for each in query.inputs.values()]
    return TopicsRead(platform, names, KeptByQuery(checkpoint), continuity.remedy_of_application(query.application))
