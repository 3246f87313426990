"""Handover: the next query of a stream begins before the running one ends, so that no reading waits between them.

Spark's real-time mode works in batches of a fixed length. Between two batches it commits, plans and broadcasts, and readings
wait. So a query works on one batch only. Some seconds before that ends, the next query starts, with a checkpoint of its own, at
the end of the topic at that moment. It plans and broadcasts while the first one goes on. As soon as the first one has committed
its batch, and with it all that came before the next one's begin, it is stopped. What both have scored has the same keys.

This is how a stream takes up a promoted baseline, a new version of the writers' schema and a new day.

A schema whose id is refused already, because the registry did not have it when it was asked, is no matter for a handover: the
readings with that id that have come since it was registered are refused, too. So the registry is asked for such ids often. When
it has one, the query is stopped, and the next one begins where the topic ended when the registry was last asked in vain.
"""

import time
import traceback
from collections.abc import Callable

from jobs.backends import kafka
from jobs.backends.kafka import Range
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats.wire import unknown_schema
from jobs.streams.driver import message_of, now
from jobs.streams.generations import Generation, Generations, Offsets, begin_of_next, has_reached
from jobs.streams.score_query import Plan, Queries, difference, refuses_what_other_scores
from jobs.streams.topics_read import TopicsRead
from jobs.streams.turn import Turn

PLANNED = 35.0  # seconds before the end of a batch at which the next query is planned; a new baseline takes 10 s to read
COLD_LEAD = 25.0  # at which it starts, if Spark has not compiled its code yet
LEAST_LEAD = 12.0  # at which any other query starts, if twice the time that the last one took to begin is not more
STUCK = 60.0  # seconds after which a batch that should have ended never will
BEHIND = 20_000  # readings that wait, from which on throughput counts more than latency
CATCH_UP = 15.0  # seconds of a batch that catches up: its offsets are committed early, should the driver die again
COUNT_WITHIN = 5.0
SELDOM, OFTEN = 1.0, 0.5  # seconds between two looks: at one query, at two
AT_ONCE, TIMES = 0.005, 10  # and when the first one is about to end: how often its commits are looked at, before the next look
ABOUT = 2.0  # seconds by which a batch may end sooner than expected: when it began is known to a look only


class Handover:
    """The queries of one stream, one after the other, until one fails or they are stopped.

    running: the query in force. next: the one that is to take over, if there is one. failure: why the last try to hand over has
    failed, None if it has not. seconds: length of a batch.
    """

    running: Turn
    _asked: Offsets  # the end of the topic when the registry was last asked about the ids that the query in force refuses

    def __init__(self, platform: Platform, queries: Queries, generations: Generations, topics: TopicsRead, seconds: float):
        self._platform, self._queries, self._generations, self._topics = platform, queries, generations, topics
        self._seconds = seconds
        self._ends = kafka.Ends(platform, [generations.topic])
        self._lead = COLD_LEAD
        self._planned = self._tried = -1  # the batches in which the next query was last planned, and tried to start
        self._plan: Plan | None = None  # of the next query
        self._twice = 0
        self._waiting: Offsets = {}  # the end of what waited when the driver began; empty once that is done
        self._counted = 0  # batches after which that was looked for
        self.next: Turn | None = None
        self.failure: str | None = None

    def prepare(self, again: Offsets) -> Generation:
        """The first generation: it begins where all before is committed. A stream that is new begins at the end of its topic.

        again: offsets from which on readings are scored again, by partition.
        """
        topic = self._topics.begin()[0]
        covered = self._generations.position(topic.name).offsets
        begin = topic.firsts | covered if covered else topic.ends
        earlier = {p: max(topic.firsts[p], min(offset, begin[p])) for p, offset in again.items()}
        generation = self._generations.begin_anew(begin | earlier, topic.id)
        self._asked = generation.begin
        self._catches_up = bool(covered)
        self._waiting = {p: end for p, end in topic.ends.items() if end > generation.begin[p]}
        self._behind = sum(topic.ends.values()) - sum(generation.begin.values()) > BEHIND
        return generation

    def begin(self, generation: Generation, plan: Plan) -> None:
        """Start the query of the first generation."""
        seconds = min(self._seconds, CATCH_UP) if self._catches_up else self._seconds
        self.running = self._start(generation, plan, seconds, self._behind)

    def look(self, keeps_up: Callable[[], bool]) -> Turn | None:
        """To be called often: hands over where it is time to. Returns a turn whose query has failed, None while all is well.

        keeps_up: whether the stream keeps up with its topic. A query that is behind goes on by itself: one that overtakes it
        would score a correction before the reading that it corrects.
        """
        if self.next and self._committed_up_to(self.next):
            self._take_over(self.running, self.next)
        for turn in self._turns:
            turn.look(self._queries.session)
            if not turn.query.isActive:
                if turn is self.running or unknown_schema(turn.query.exception()):
                    return turn
                self._drop_next(turn)
        if self.next:
            self._finish_when_ready(self.running, self.next)
        elif self._tried < self.running.batches and self.running.ends_within(self._lead) and keeps_up():
            self._tried = self.running.batches
            self._begin_next()
        elif max(self._planned, self._tried) < self.running.batches and self.running.ends_within(PLANNED):
            self._planned = self.running.batches
            self._plan_next()
        return None

    def wait(self, wait: Callable[[float], bool]) -> bool:
        """Until it is time for the next look. True as soon as a stop is requested: `wait`, of the driver, says so.

        A commit of the query in force is seen at once. Spark begins to plan the next batch some milliseconds later. Planning is a
        second of CPU time that the next query needs, and Spark stops a query that plans only when it has planned.
        """
        if self.next is None or not self.running.ends_within(ABOUT):
            return wait(OFTEN if self.next else SELDOM)
        for _ in range(TIMES):
            if wait(AT_ONCE):
                return True
            if self._committed_up_to(self.next):
                break
        return False

    def caught_up(self) -> bool:
        """Whether all that waited at the driver's start is committed: all that is known of the lag of a query that leaves
        readings out."""
        if self._waiting and self._counted < self.running.batches:
            self._counted = self.running.batches
            if self._has_committed(self.running, self._waiting):
                self._waiting = {}
        return not self._waiting

    def plan_with_refused(self) -> Plan | None:
        """The plan with a schema whose id the query in force refuses; None while the registry has none, or is silent."""
        plan = self.running.plan
        if plan.writers.refused == frozenset():
            return None
        try:
            ends = self._ends.now()[self._generations.topic]
            found = self._queries.plan_with_registered(plan)
        except JobError:
            return None
        if refuses_what_other_scores(plan, found):
            return found
        self._asked = ends
        return None

    def refused_since(self, plan: Plan) -> Offsets:
        """From where on the query in force may have refused readings that one with this plan scores; empty if it has not."""
        return self._asked if refuses_what_other_scores(self.running.plan, plan) else {}

    def overlap(self) -> tuple[bool, int]:
        """Whether two queries score the same readings now, and how many readings were scored by two."""
        return self.next is not None, self._twice

    def stop(self) -> None:
        for turn in self._turns:
            turn.query.stop()

    @property
    def _turns(self) -> list[Turn]:
        return [self.running, self.next] if self.next else [self.running]

    def _plan_next(self) -> None:
        """A changed plan has a baseline to read first. Its code is that of the plan before: see `wire.decode`."""
        self._plan = None
        try:
            plan = self._queries.plan_after(self.running.plan)
            if plan != self.running.plan:
                self._queries.prepare(plan)
            self._plan = plan
        except Exception as error:
            self._not_now(error)

    def _begin_next(self) -> None:
        """Whatever hinders it, the running query goes on."""
        try:
            topic = self._topics.same()[0]
            begin = begin_of_next(topic.ends, topic.firsts, self.running.generation.begin)
            plan = self._plan or self._queries.plan_after(self.running.plan)
            plan = self._queries.plan_with_renewed_writers(plan)  # each reading that none knows stops the stream for seconds
            if refuses_what_other_scores(self.running.plan, plan):
                return  # `plan_with_refused` finds it, too
            self.next = self._start(self._generations.new(begin, topic.id), plan, self._seconds)
            self.failure = None
        except Exception as error:
            self._not_now(error)

    def _not_now(self, error: Exception) -> None:
        """Of the broker, the registry, a table: what scores is not touched by it."""
        traceback.print_exc()
        self.failure = f"no handover: {type(error).__name__}: {error}"

    def _drop_next(self, turn: Turn) -> None:
        """The query in force goes on; the next batch tries it again."""
        self.failure = f"no handover: {message_of(turn.query.exception())}"
        print(self.failure, flush=True)
        self._generations.keep_only(self.running.generation)
        self.next = None

    def _finish_when_ready(self, running: Turn, following: Turn) -> None:
        if running.ends_within(-STUCK):
            raise JobError(f"generation {running.generation.number} has not ended its batch {STUCK:.0f} s after its time")
        if self._committed_up_to(following) or self._has_nothing_left_for(running, following):
            self._take_over(running, following)

    def _committed_up_to(self, following: Turn) -> bool:
        """Whether the query in force has committed all that came before the begin of this one, which works on all the rest."""
        return following.live_at is not None and has_reached(self.running.generation.stretch.reached, following.generation.begin)

    def _has_nothing_left_for(self, running: Turn, following: Turn) -> bool:
        """The same, where no records are between what it has committed and that begin."""
        ended_a_batch = running.has_ended_a_batch_since(following.started_at)
        return following.live_at is not None and ended_a_batch and self._has_committed(running, following.generation.begin)

    def _take_over(self, running: Turn, following: Turn) -> None:
        running.query.stop()
        took = (following.live_at or time.monotonic()) - following.started_at
        reached, begin = running.generation.stretch.reached, following.generation.begin
        self._generations.keep_only(following.generation)
        self._lead = max(2 * took, LEAST_LEAD)
        self.running, self._plan = following, None
        self._planned = self._tried = -1
        self._twice, self.next = self._twice + self._scored_twice(reached, begin), None
        self._queries.keep_only(following.plan)
        what = f"query {following.generation.number} has taken over; it took {took:.1f} s to begin"
        changed = difference(running.plan, following.plan)
        print(f"{what}{changed and f'; what changed: {changed}'}", flush=True)

    def _scored_twice(self, reached: Offsets, begin: Offsets) -> int:
        """How many records both have scored. Where they can't be counted in time, as if each offset had one."""
        both = {p: Range(begin[p], offset) for p, offset in reached.items() if offset > begin.get(p, offset)}
        try:
            return kafka.count(self._platform, self._generations.topic, both, COUNT_WITHIN)
        except JobError:
            return sum(each.end - each.start for each in both.values())

    def _has_committed(self, turn: Turn, ends: Offsets) -> bool:
        """Whether it has committed all that comes before these offsets. Ends of transactions and aborted records are no records:
        they may be left where a batch has ended since then."""
        left = {p: Range(at, ends[p]) for p, at in turn.generation.stretch.reached.items() if at < ends.get(p, at)}
        try:
            return not left or not kafka.count(self._platform, self._generations.topic, left, COUNT_WITHIN)
        except JobError:  # the broker is silent; the next look asks again
            return False

    def _start(self, generation: Generation, plan: Plan, seconds: float, behind: bool = False) -> Turn:
        query = self._queries.start(generation, plan, seconds, behind)
        print(f"query {generation.number} started at {now()}, baseline version {plan.baseline_version}", flush=True)
        return Turn(generation, query, plan, seconds, time.monotonic())
