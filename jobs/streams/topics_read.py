"""The topics that a query reads: that it can go on where it was in them, and that they stay the same topics while it runs."""

from collections.abc import Iterable

from contracts.feeds import Feed
from contracts.queries import Query
from jobs.backends import continuity
from jobs.backends.continuity import Position
from jobs.backends.settings import Platform
from jobs.backends.topics import Topics, topic_now
from jobs.errors import JobError
from jobs.streams.checkpoint import Checkpoint


class TopicsRead:
    """Of one query. remedy: what people are told to do if it can't go on. cores: that a query in real-time mode has, if known."""

    def __init__(self, platform: Platform, names: Iterable[str], checkpoint: Checkpoint, remedy: str, cores: int | None = None):
        self._platform, self._names, self._checkpoint = platform, sorted(set(names)), checkpoint
        self._remedy, self._cores = remedy, cores
        self._topics = Topics(platform, self._names)

    def begin(self) -> None:
        """Before the query starts. Raises JobError where it can't read all that it has not read yet."""
        now = [topic_now(self._platform, name) for name in self._names]
        self._refuse([gap for topic in now for gap in continuity.gaps(topic, self._position(topic.name))])
        self._checkpoint.note_topic_ids({topic.name: topic.id for topic in now})
        self.look()

    def look(self) -> None:
        """While the query runs. Raises JobError where a topic was deleted and made anew, as Spark would go on at the old offsets,
        or where a partition has no core. A broker that is silent, or a topic that is just missing, is no reason to stop."""
        try:
            now = self._topics.described()
        except JobError:
            return
        known = self._checkpoint.topic_ids
        self._refuse([f"topic {name} was deleted and made anew" for name in self._names if now[name].id != known[name]])
        for name, topic in now.items():
            if self._cores and topic.partitions > self._cores:
                enough = f"declare partitions: {topic.partitions} in schemas/feeds/{name}.yaml, then start the stream again"
                few = f"has {topic.partitions} partitions, and this stream has {self._cores} cores, but each partition needs one"
                raise JobError(f"topic {name} {few}: {enough}")

    def skip_lost(self) -> list[str]:
        """Have the query, which must not run, go on with what the topics hold. Returns what is lost; empty if nothing is."""
        lost = []
        for name in self._names:
            topic, reached = topic_now(self._platform, name), self._position(name)
            if gaps := continuity.gaps(topic, reached):
                self._checkpoint.go_on_at(name, continuity.after_gaps(topic, reached))
                self._checkpoint.note_topic_ids(self._checkpoint.topic_ids | {name: topic.id})
                lost += gaps
        return lost

    def _position(self, name: str) -> Position:
        reached = self._checkpoint.reached() or {}
        return Position(reached.get(name, {}), self._checkpoint.topic_ids.get(name, ""))

    def _refuse(self, lost: list[str]) -> None:
        if lost:
            raise JobError(f"{'; '.join(lost)}; {self._remedy}")


def of_feed(platform: Platform, feed: Feed, checkpoint: Checkpoint, cores: int | None = None) -> TopicsRead:
    return TopicsRead(platform, [feed.topic], checkpoint, continuity.remedy_of_feed(feed.name), cores)


def of_query(platform: Platform, query: Query, checkpoint: Checkpoint) -> TopicsRead:
    names = [each.topic for each in query.inputs.values()]
    return TopicsRead(platform, names, checkpoint, continuity.remedy_of_application(query.application))
