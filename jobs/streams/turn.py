"""A turn: one generation of a stream while its query runs."""

import time
from dataclasses import dataclass

from pyspark import SparkStageInfo
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from jobs.streams.generations import Generation
from jobs.streams.score_query import Plan


@dataclass
class Turn:
    """One generation while its query runs. Times are of time.monotonic.

    seconds: length of its batches. live_at: when its tasks were first seen to run, None before. batches: how many it has
    committed. batch_at: since when it works on the next one, None before Spark has planned the first: a batch ends so many
    seconds after it was planned, and on a busy machine its tasks begin seconds later.
    """

    generation: Generation
    query: StreamingQuery
    plan: Plan
    seconds: float
    started_at: float
    live_at: float | None = None
    batches: int = 0
    batch_at: float | None = None

    def look(self, session: SparkSession) -> None:
        at = time.monotonic()
        if self.live_at is None:
            stages = _stages(session, self.query)
            if stages and self.batch_at is None:
                self.batch_at = at
            if _works(stages, len(self.generation.begin)):
                self.live_at = at
        progress = self.query.lastProgress
        if progress and progress.batchId >= self.batches:
            self.batches, self.batch_at = progress.batchId + 1, at

    def ends_within(self, seconds: float) -> bool:
        """Whether its batch is to end no later than so many seconds from now, which may be negative."""
        return self.batch_at is not None and self.batch_at + self.seconds <= time.monotonic() + seconds

    def has_ended_a_batch_since(self, at: float) -> bool:
        return self.batches > 0 and self.batch_at is not None and self.batch_at > at


def _stages(session: SparkSession, query: StreamingQuery) -> list[SparkStageInfo]:
    """Those of the query's jobs that Spark remembers, those of its broadcast included."""
    tracker = session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    found = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return [stage for stage in found if stage]


def _works(stages: list[SparkStageInfo], partitions: int) -> bool:
    """Whether a task of the query is at work on each partition, those that were added since it was planned included."""
    return any(stage.numTasks == stage.numActiveTasks >= partitions for stage in stages)
