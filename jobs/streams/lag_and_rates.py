"""How far a stream is behind its topic, measured at the broker: what came in against what went out.

Spark reports a real-time query's progress only when a batch ends. But each record of the source becomes exactly one record
of one output topic (scored or dead-letter), so the ends of the topics say at any moment how many of those that came are done.
Archive writes dead letters too, and a query whose end comes late scores what the next one scores as well. Both show as soon as
more has gone out than came in, and are no work done. Dead letters are counted all, whoever wrote them.
A query that leaves records out (`--services`) can't be measured so.
"""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable

from contracts.feeds import Feed
from jobs.backends import kafka
from jobs.backends.settings import Platform
from jobs.streams.checkpoint import Checkpoint

MEMORY = 3600  # measurements; of a lag that began before the first of them, only that part is known
RATE_SECONDS = 10.0
STEADY = 5  # measurements in a row after which what went out too much is no record on its way
COUNT_AFTER, COUNT_WITHIN = 10.0, 20.0  # seconds in which something seems to wait; for counting what of it are records
CATCHING_UP = 0.9  # of what waited when counting was last due; a query with less gets on, and counting would slow it down
MOST = 200_000  # offsets of a partition that are counted at a time
LONGEST_GAP = 5.0  # between two measurements; over a longer one, while the broker was away, a standstill is not known


class Behind:
    """Lag, rates and standstill from counts of records. Pure arithmetic on a monotonic clock in seconds.

    keeps_up: whether all that had come when it was measured before was done at the last measurement. How long measuring takes
    makes no difference to it, unlike to lag_seconds: a few records that are on their way seem to wait since that measurement.
    """

    def __init__(self):
        self._at: deque[float] = deque(maxlen=MEMORY)
        self._came: deque[int] = deque(maxlen=MEMORY)
        self._counts: deque[tuple[int, int, int]] = deque(maxlen=MEMORY)
        self._stalled = 0.0
        self.keeps_up = False

    def measured(self, at: float, came: int, done: int, dead: int) -> dict:
        """The figures of one measurement; all counts are since the query's first record, `done` those that went out, dead ones
        among them.

        lag_records: those that came and are not done. lag_seconds: how long the oldest of them has waited at most, as the time
        since the newest measurement at which no more had come than are done now; 0 without a lag. input_per_second,
        dead_letters_per_second: over the last ten seconds. stalled_seconds: how long nothing was done while there was a lag.
        """
        lag = max(came - done, 0)
        known = bool(self._at) and at - self._at[-1] <= LONGEST_GAP
        if lag == 0 or (known and done > self._counts[-1][1]):
            self._stalled = 0.0
        elif known:
            self._stalled += at - self._at[-1]
        for index in range(len(self._came) - 1, -1, -1):  # some that seemed to have come were no records
            if self._came[index] <= came:
                break
            self._came[index] = came
        self.keeps_up = done >= (self._came[-1] if known else came)
        self._at.append(at)
        self._came.append(came)
        self._counts.append((came, done, dead))
        first = max(bisect_right(self._at, at - RATE_SECONDS) - 1, 0)
        seconds = at - self._at[first]
        before = self._counts[first]
        return {
            "lag_records": lag,
            "lag_seconds": round(at - self._at[max(bisect_right(self._came, done) - 1, 0)], 1) if lag else 0.0,
            "input_per_second": round((came - before[0]) / seconds, 1) if seconds else None,
            "dead_letters": dead,
            "dead_letters_per_second": round((dead - before[2]) / seconds, 1) if seconds else None,
            "stalled_seconds": round(self._stalled, 1),
        }


class Backlog:
    """The backlog of a feed's queries, from just before the first one starts at `begin`. Not for threads to share.

    overlap: whether two queries score the same readings now, and how many readings were scored by two before. While they do, what
    goes out is more than what is done, so a lag is known only from there on where nothing goes out.
    """

    def __init__(self, platform: Platform, feed: Feed, begin: dict[int, int], overlap: Callable[[], tuple[bool, int]]):
        self._ends = kafka.Ends(platform, [feed.topic, feed.scored_topic, feed.dead_letter_topic])
        self._platform, self._feed, self._overlap = platform, feed, overlap
        self._first = sum(begin.values())
        self._before = {topic: sum(offsets.values()) for topic, offsets in self._ends.now().items()}
        self._excess: deque[int] = deque(maxlen=STEADY)
        self._besides = 0  # records that went out and do no reading: dead letters of others, and what two queries scored unseen
        self._behind = Behind()
        self._holes = 0  # offsets without a record, before those of _counted
        self._counted, self._counted_at = begin, time.monotonic()
        self._waited: int | None = None  # offsets that seemed to wait when counting was last due

    def measure(self) -> dict:
        """See `Behind.measured`. Raises JobError if the broker is silent."""
        (two, twice), ends = self._overlap(), self._ends.now()
        scored, dead = (
            sum(ends[topic].values()) - self._before[topic] for topic in (self._feed.scored_topic, self._feed.dead_letter_topic)
        )
        came = sum(ends[self._feed.topic].values()) - self._first - self._holes
        done = scored + dead - twice - self._besides
        if self._waited is None:
            self._waited = came - done
        if came <= done and not two:
            self._counted, self._counted_at, self._waited = ends[self._feed.topic], time.monotonic(), 0
        elif came > done and time.monotonic() - self._counted_at >= COUNT_AFTER:
            if came - done >= CATCHING_UP * self._waited:
                came -= self._further_holes(ends[self._feed.topic])
            self._counted_at, self._waited = time.monotonic(), came - done
        if two:
            self._excess.clear()
            done = min(done, came)
        self._excess.append(done - came)
        if len(self._excess) == STEADY and (besides := min(self._excess)) > 0:
            self._besides += besides
            self._excess.clear()
            done -= besides
        return self._behind.measured(time.monotonic(), came, done, dead)

    def keeps_up(self) -> bool:
        """See `Behind.keeps_up`, as of the last measurement; False before the first one."""
        return self._behind.keeps_up

    def _further_holes(self, ends: dict[int, int]) -> int:
        """Ends of transactions, what they aborted and what compaction removed have offsets, but nobody gets a record: they are no
        lag. Only reading tells them from records that wait; so that is done where something seems to wait for long."""
        begins = {partition: self._counted.get(partition, 0) for partition in ends}
        ranges = {
            partition: kafka.Range(begins[partition], min(end, begins[partition] + MOST)) for partition, end in ends.items()
        }
        offsets = sum(each.end - each.start for each in ranges.values())
        holes = offsets - kafka.count(self._platform, self._feed.topic, ranges, COUNT_WITHIN)
        self._holes += holes
        self._counted = {partition: each.end for partition, each in ranges.items()}
        return holes


class DeadLetters:
    """Those that came into dead-letter topics since then. Not for threads to share.

    A topic that several applications read has one dead-letter topic, and the letters of each of them count for all.
    """

    def __init__(self, topics: Iterable[str], ends: dict[str, dict[int, int]]):
        self._topics = frozenset(topics)
        self._before = self._sum(ends)
        self._seen: deque[tuple[float, int]] = deque(maxlen=MEMORY)

    def measure(self, ends: dict[str, dict[int, int]]) -> dict:
        """dead_letters; dead_letters_per_second over the last ten seconds, null at first. ends: of these topics at least."""
        at, count = time.monotonic(), self._sum(ends) - self._before
        while len(self._seen) > 1 and self._seen[1][0] <= at - RATE_SECONDS:
            self._seen.popleft()
        self._seen.append((at, count))
        since, before = self._seen[0]
        rate = round((count - before) / (at - since), 1) if at > since else None
        return {"dead_letters": count, "dead_letters_per_second": rate}

    def _sum(self, ends: dict[str, dict[int, int]]) -> int:
        return sum(offset for topic in self._topics for offset in ends[topic].values())


class BatchesBacklog:
    """The backlog of a query in micro-batches, by the offsets of the last batch that it committed. Not for threads to share."""

    def __init__(self, topics: Iterable[str], checkpoint: Checkpoint):
        self._topics, self._checkpoint = frozenset(topics), checkpoint
        self._behind = Behind()
        self._first: int | None = None

    def measure(self, ends: dict[str, dict[int, int]]) -> dict:
        """See `Behind.measured`, without the dead letters, see `DeadLetters`; empty while it has not fixed where
        it begins. ends: of the query's topics at least, as `kafka.Ends` gives them."""
        done = self._checkpoint.committed()
        if done is None:
            return {}
        if self._first is None:
            self._first = done
        figures = self._behind.measured(
            time.monotonic(), sum(sum(ends[topic].values()) for topic in self._topics) - self._first, done - self._first, 0
        )
        return {name: figure for name, figure in figures.items() if not name.startswith("dead_letters")}
