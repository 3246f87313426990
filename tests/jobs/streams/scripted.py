"""A stream whose clock, broker and queries a test scripts; its generations are real."""

import json
from dataclasses import replace
from types import SimpleNamespace

from jobs.backends.kafka import Range
from jobs.backends.topics import Topic
from jobs.errors import JobError
from jobs.formats.wire import Writers
from jobs.streams import handover, turn
from jobs.streams.generations import Generation, Generations
from jobs.streams.handover import Handover
from jobs.streams.score_query import Plan

BATCH = 60
PLAN = Plan(3, frozenset({1}), Writers("calls-value", ()), (), table_version=3)


class Query:
    """Of one generation: its first batch is planned at once; it works, commits and fails as the test says."""

    def __init__(self, generation: Generation):
        self.generation, self.runId = generation, generation.number
        self.works, self.isActive, self.lastProgress, self.error = True, True, None, None

    def exception(self) -> Exception | None:
        return self.error

    def stop(self) -> None:
        self.isActive = False

    def fail(self, error: Exception) -> None:
        self.isActive, self.error = False, error

    def commits(self, offset: int) -> None:
        """Its batch, up to there."""
        batch = self.lastProgress.batchId + 1 if self.lastProgress else 0
        for kind, text in (("offsets", f"v1\n{{}}\n{json.dumps({'calls': {'0': offset}})}\n"), ("commits", "v1\n{}")):
            (self.generation.folder / kind).mkdir(exist_ok=True)
            (self.generation.folder / kind / str(batch)).write_text(text)
        self.lastProgress = SimpleNamespace(batchId=batch)


class Stream:
    """One stream with what it meets: the clock, the end of its topic, and how many records the broker counts in some offsets."""

    def __init__(self, folder, monkeypatch):
        self.at, self.end, self.counted, self.keeps_up, self.silent = 1000.0, 100, 0, True, False
        self.queries: list[Query] = []
        self.started: list[tuple[float, bool]] = []  # length of the batches, and whether it is behind
        folder.mkdir()
        self.generations = Generations(folder, "calls")
        for module in (handover, turn):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.at))
        monkeypatch.setattr(
            turn, "_stages", lambda session, query: [SimpleNamespace(numTasks=1, numActiveTasks=int(query.works))]
        )
        monkeypatch.setattr(handover, "kafka", SimpleNamespace(Ends=lambda *_: None, count=self._count))
        self.plan, self.prepared, self.unreadable = PLAN, [], False
        self._topics = SimpleNamespace(begin=self._topic, same=self._topic)
        self._made = SimpleNamespace(
            session=None,
            start=self._start,
            plan_after=lambda plan: self.plan,
            plan_with_renewed_writers=lambda plan: replace(plan, writers=self.plan.writers),
            prepare=self._prepare,
            keep_only=lambda plan: None,
        )

    def begin(self) -> Query:
        """A driver, and its first query, which works at once."""
        self.handover = Handover(None, self._made, self.generations, self._topics, BATCH)
        self.handover.begin(self.handover.prepare({}), PLAN)
        self.look()
        return self.queries[0]

    def look(self, after: float = 0.0):
        self.at += after
        return self.handover.look(lambda: self.keeps_up)

    @property
    def in_force(self) -> int:
        return self.handover.running.generation.number

    def _topic(self) -> list[Topic]:
        if self.silent:
            raise JobError("Kafka does not answer")
        return [Topic("calls", "id", {0: Range(0, self.end)})]

    def _count(self, *_) -> int:
        if self.silent:
            raise JobError("Kafka does not answer")
        return self.counted

    def _prepare(self, plan: Plan) -> None:
        if self.unreadable:
            raise JobError("the lake does not answer")
        self.prepared.append(plan)

    def _start(self, generation: Generation, plan: Plan, seconds: float, behind: bool) -> Query:
        self.queries.append(Query(generation))
        self.started.append((seconds, behind))
        return self.queries[-1]
