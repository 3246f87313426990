"""The feeds that a query reads as one source: which can be read, what a new one begins with, and what becomes of old ones.

The offsets of such a query are by topic, so feeds may come and go without a new checkpoint. A feed begins when its topic has its
first record. The query knows what was loaded from files before that from the walk through history. A feed begins, as in a query
that never ran, at the oldest record of its topic and with what its last night knew. So does one whose states mean something else
since a new release or another interval, time zone or holidays.
"""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, cast

from contracts import avro
from contracts.declarations import DeclarationError
from contracts.feeds import FEEDS
from contracts.queries import Query, load_application
from jobs.backends import detector_known, detector_states, kafka
from jobs.backends.registry import Registry
from jobs.backends.settings import Platform
from jobs.errors import JobError
from jobs.formats import query_records
from jobs.formats.known_rows import KnownRows
from jobs.streams.checkpoint import Begun, Checkpoint


class Declared:
    """The queries of an application, of the feeds that can be read. queries: the folder. checkpoints: of the application."""

    def __init__(self, platform: Platform, application: str, queries: Path, checkpoints: Path):
        self._platform, self._application, self._queries = platform, application, queries
        self._checkpoints, self._registry = checkpoints, Registry(platform)

    def now(self) -> list[Query]:
        """As they are declared now, without feeds that are new and not deployed yet, or that have no record yet."""
        found = load_application(self._application, self._queries).values()
        return [self._readable(each) if each.begins_with else each for each in found]

    def renewed(self, running: list[Query]) -> list[Query] | None:
        """The queries of now if one of those that run would read other feeds; None if not. What can't be read now is no reason to
        stop what runs."""
        of_feeds = {each.name: each.inputs.keys() for each in running if each.begins_with}
        folder = self._queries.parent / FEEDS.name
        files = {file.stem for file in folder.glob("*.yaml")}
        read = {each.topic for query in running if query.begins_with for each in query.inputs.values()}
        if not of_feeds or not files or files == read:
            return None
        try:
            if files > read and not self._with_records((files - read) & kafka.topics(self._platform)):
                return None
            now = self.now()
        except (DeclarationError, JobError):
            return None
        return now if {each.name: each.inputs.keys() for each in now if each.begins_with} != of_feeds else None

    def _readable(self, query: Query) -> Query:
        there, begun = kafka.topics(self._platform), Checkpoint(self._checkpoints / query.name).begun.how
        deployed = {
            alias: source.topic
            for (alias, source), output in zip(query.inputs.items(), query.outputs, strict=True)
            if source.topic in begun or ({source.topic, output.topic} <= there and self._has_contracts(query.of_inputs({alias})))
        }
        read = begun.keys() | self._with_records({*deployed.values()} - begun.keys())
        found = {alias for alias, topic in deployed.items() if topic in read} or deployed.keys()
        return query.of_inputs(found) if found else query  # of which all that is missing is said when it starts

    def _with_records(self, topics: Set[str]) -> set[str]:
        """Those of these topics, which exist, that have had a record. Raises JobError where the broker does not answer."""
        ends = kafka.Ends(self._platform, sorted(topics)).now() if topics else {}
        return {topic for topic, of_topic in ends.items() if any(of_topic.values())}

    def _has_contracts(self, query: Query) -> bool:
        try:
            for source in query.inputs.values():
                for subject in query_records.subjects(source):
                    self._registry.writers(subject)
            for output in query.outputs:
                self._registry.id_of(avro.subject(output.topic), avro.schema(output.record, output.version))
        except JobError:
            return False
        return True


def begun(query: Query, checkpoint: Checkpoint) -> Query:
    """The query of the feeds that it has begun to read."""
    return query.of_inputs({alias for alias, each in query.inputs.items() if each.topic in checkpoint.begun.how})


def begin(platform: Platform, query: Query, checkpoint: Checkpoint) -> KnownRows:
    """Before the query starts: have its checkpoint begin with the feeds that are new, and forget those that are gone. Returns
    what nights knew. Raises JobError where the checkpoint is of another kind."""
    feeds = cast("Mapping[str, dict[str, Any]]", query.parameters["feeds"])
    known = KnownRows(str(checkpoint.folder / "known"), {table: detector_states.meaning(each) for table, each in feeds.items()})
    before, now = checkpoint.begun.how, {query.inputs[table].topic: how for table, how in known.how.items()}
    if checkpoint.is_started and not before:
        raise JobError(
            f"the checkpoint {checkpoint.folder} is of a release that read each feed as a source of its own: delete it, then the"
            f" query {query.name} begins like one that never ran"
        )
    if before != now:
        new = {table: query.inputs[table].topic for table in feeds if before.get(query.inputs[table].topic) != known.how[table]}
        begins = {topic: {p: each.start for p, each in kafka.available(platform, topic).items()} for topic in new.values()}
        changed = checkpoint.read_topics(begins, before.keys() - now.keys())
        for table in new:
            known.keep(table, detector_known.at_midnight(platform, table, feeds[table]))
        checkpoint.note_begun(Begun(now, changed))
        print(f"query {query.name}: begins with {', '.join(new.values()) or 'no new feed'}", flush=True)
    return known
