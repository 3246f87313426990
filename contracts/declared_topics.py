"""The topics that follow from all declarations: who owns each, and what it keeps."""

from collections.abc import Iterable
from dataclasses import replace

from contracts.alerts import ALERTS, DEAD, load_routes
from contracts.declarations import DeclarationError, Topic, dead_letter_topic, dead_letters
from contracts.feeds import load_feeds
from contracts.queries import COMMITS, Query, load_queries


def declared_topics() -> list[Topic]:
    """All topics of all feeds, queries and routes. What a query writes is the query's: incidents, and an access log's feeds. It
    grows with the feed nevertheless."""
    feeds, queries = load_feeds().values(), load_queries().values()
    written = {each.topic for query in queries for each in query.outputs}
    all_of_feeds = [topic for feed in feeds for topic in feed.topics]
    of_feeds = [topic for topic in all_of_feeds if topic.name not in written]
    growing = {topic.name for topic in all_of_feeds if topic.grows}
    of_queries = [replace(topic, grows=topic.name in growing) for topic in query_topics(queries, of_feeds)]
    return of_feeds + of_queries + ([ALERTS, DEAD] if load_routes() else [])


def topics_read() -> set[str]:
    """Topics that a feed or a query reads."""
    return {*load_feeds(), *(each.topic for query in load_queries().values() for each in query.inputs.values())}


def queries_reading(topic: str) -> list[str]:
    """The names of the declared queries that read it."""
    return sorted(query.name for query in load_queries().values() if topic in {each.topic for each in query.inputs.values()})


def query_topics(queries: Iterable[Query], others: Iterable[Topic] = ()) -> list[Topic]:
    """The topics that queries write and read, with their dead letters, but for those that others (the feeds) declare; and that of
    the commits, where a query is delivered exactly once.

    A topic belongs to the declaration that writes it; one that no declaration writes, to all that read it. Raises
    DeclarationError where two declarations of one topic say different things.
    """
    queries, of_others, mistakes = list(queries), {topic.name: topic for topic in others}, []
    owned = of_others | ({COMMITS.name: COMMITS} if any(query.exactly_once for query in queries) else {})
    for query in queries:
        for topic in (each.declared_topic for each in query.outputs):
            if owned.setdefault(topic.name, topic) is not topic:
                mistakes.append(f"{query.name}.yaml: topic {topic.name} is written by another declaration too")
    found = dict(owned)
    for query in queries:
        for alias, each in query.inputs.items():
            wanted, known = each.declared_topic, found.setdefault(each.topic, each.declared_topic)
            declared = (each.partitions, each.retention_days, each.compacted)
            if each.topic in owned and declared != (None, None, None):
                mistakes.append(f"{query.name}.yaml: inputs.{alias}: {each.topic}'s writer declares its size and what it keeps")
            elif (known.record, known.key_record) != (wanted.record, wanted.key_record):
                mistakes.append(f"{query.name}.yaml: inputs.{alias}: another declaration gives {each.topic} another contract")
            elif known.encoding != wanted.encoding:
                mistakes.append(f"{query.name}.yaml: inputs.{alias}: {each.topic} is {known.encoding} in another declaration")
            elif each.topic not in owned and known != wanted:
                mistakes.append(f"{query.name}.yaml: inputs.{alias}: another declaration gives {each.topic} another size")
            elif each.is_table and (not known.compacted or known.retention_days is not None):
                remedy = "declare compacted: true and retention_days: forever where it is written"
                mistakes.append(f"{query.name}.yaml: inputs.{alias}: {each.topic} loses keys, so it is no table; {remedy}")
    if mistakes:
        raise DeclarationError("\n".join(mistakes))
    for query in queries:
        read, written = [each.topic for each in query.inputs.values()], [each.topic for each in query.outputs]
        for name in (*read, *written):
            found.setdefault(dead_letter_topic(name), dead_letters(name, found[name].retention_days))
    return [topic for name, topic in found.items() if name not in of_others]
