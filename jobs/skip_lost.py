"""Skip lost: have a feed or an application go on with what its topics hold, after records that it had not read were deleted.

A stream and an archive refuse to go on if records expired before they were read, or if a topic was deleted and made anew. This
job moves them to what is there: checkpoints are changed in place, and an archive gets a commit that says what is lost. If nothing
is lost, nothing changes. The stream must not run meanwhile. After a kill at any moment, run the job again.

What a query keeps as its state stays as it is. But a query of tables alone begins again: of each key it keeps the row with the
highest offset, and a topic that was created again begins at offset 0. The topics of tables have all that it needs.
"""

import argparse
from collections.abc import Iterator

from contracts.feeds import Feed
from contracts.queries import Query, load_application, load_queries
from jobs.backends import late_records, offset_ledger, settings, tables
from jobs.backends.metric_events import Events
from jobs.backends.settings import Platform
from jobs.backends.topics import topic_now
from jobs.errors import JobError
from jobs.streams import feeds_read, topics_read
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.generations import Generations
from supervision.files import Locked, StreamFolder, locked

Lost = Iterator[tuple[str, list[str]]]  # by reader, what it goes on without


def main(platform: Platform) -> None:
    options = _options()
    of, stream = (options.feed.name, "score") if options.feed else (options.application, "queries")
    folder = StreamFolder.of(platform.streams, of, stream)
    folder.make()
    try:
        with locked(folder.driver_lock):
            skip = _of_feed if options.feed else _of_application
            lost = 0
            for reader, gaps in skip(platform, folder, options):
                lost += len(gaps)
                for gap in gaps:
                    print(f"{reader}: {gap}", flush=True)
    except Locked:
        command = "streams" if options.feed else "queries"
        raise JobError(f"{folder.name} runs; stop it first: sundial {command} stop {of}") from None
    if not lost:
        print(f"{of}: nothing is lost, nothing was changed", flush=True)


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__)
    settings.add_feed_or_application(arguments)
    settings.add_run_id(arguments)
    return arguments.parse_args()


def _of_feed(platform: Platform, folder: StreamFolder, options: argparse.Namespace) -> Lost:
    feed: Feed = options.feed
    yield "scoring", topics_read.of_feed(platform, feed, Generations(folder.checkpoint, feed.topic)).skip_lost()
    yield "archive", offset_ledger.skip_lost(tables.history(platform, feed), topic_now(platform, feed.topic), options.run_id)


def _of_application(platform: Platform, folder: StreamFolder, options: argparse.Namespace) -> Lost:
    for query in load_application(options.application, options.queries).values():
        checkpoint = Checkpoint(folder.checkpoint / query.name)
        read = feeds_read.begun(query, checkpoint) if query.begins_with else query
        topics = topics_read.of_query(platform, read, checkpoint)
        if not query.reads_changes:
            yield f"query {query.name}", topics.skip_lost()
        elif lost := topics.lost():  # offsets that were moved before would hide from the next run that its state is to go
            checkpoint.delete()
            yield f"query {query.name}", lost
        if query.transform == "metric_summaries":
            yield from _of_events(platform, query, options)


def _of_events(platform: Platform, query: Query, options: argparse.Namespace) -> Lost:
    """Of the archive of a query's events, and of what counts in those that came too late."""
    events, late = Events(platform, query), [query, *late_records.rollups_of(load_queries(options.queries), query)]
    topic = topic_now(platform, events.source.topic)
    yield f"archive of {topic.name}", offset_ledger.skip_lost(events.table, topic, options.run_id)
    yield f"repair of {query.name}", late_records.skip_lost(platform, late, events.table, options.run_id)


if __name__ == "__main__":
    settings.run(main)
