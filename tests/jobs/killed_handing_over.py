"""Runs the scoring of a feed, and kills it, JVM included, at a step of its first handover: killed_handing_over.py STEP FEED
[ARGUMENT...].

STEP is one of STEPS, or `never`. FEED is a declaration as JSON.
"""

import sys

from contracts.feeds import Feed
from jobs import score
from jobs.backends import settings
from jobs.streams import handover
from jobs.streams.generations import Generations
from jobs.streams.handover import Handover
from jobs.streams.score_query import Queries
from tests.jobs.killed import die

STEPS = {
    "the next generation is there": (Generations, "new"),
    "its query has started": (Handover, "_begin_next"),
    "both score": (handover, "has_reached"),
    "the first has committed": (Handover, "_take_over"),
    "the first has stopped": (Generations, "keep_only"),
    "the first is gone": (Queries, "keep_only"),
}


def deadly(method):
    """The method, which ends the process: after its work if that begins the next query, else before it. What a driver does with
    generations at its start does not count."""

    def call(self, *arguments):
        if sys._getframe(1).f_code.co_name == "begin_anew":
            return method(self, *arguments)
        if method.__name__ in ("new", "_begin_next"):
            method(self, *arguments)
        die()

    return call


if __name__ == "__main__":
    step, feed = sys.argv.pop(1), Feed.model_validate_json(sys.argv.pop(1))
    settings.load_feed = lambda name: feed
    settings.LEAST_CHECKPOINT = 1  # short batches bring a handover soon; it does no harm here that two queries always run
    if step != "never":
        owner, name = STEPS[step]
        setattr(owner, name, deadly(getattr(owner, name)))
    settings.run(score.main)
