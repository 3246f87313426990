"""`sundial dead-letters`: what could not be read, and its way back."""

import datetime as dt
from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from contracts.declarations import dead_letter_topic
from contracts.declared_topics import declared_topics, queries_reading, topics_read
from contracts.feeds import load_feeds
from stack.commands.console import console, failures_reported, kafka_of, progress, registry_of
from stack.commands.read import Reader
from stack.errors import StackError
from stack.parts import batch_run

app = typer.Typer(no_args_is_help=True, help="What could not be read, with its bytes and the reason, and its way back.")


@app.command("list")
def list_(context: typer.Context) -> None:
    """How many records of each topic are dead letters, by their reason. The letters: sundial read TOPIC.dead-letter"""
    with failures_reported():
        table = Table("topic", "records", "reason", box=None)
        declared = {topic.name: topic for topic in declared_topics()}
        for name in declared:
            if letters := declared.get(dead_letter_topic(name)):
                for reason, count in _reasons(Reader(letters, *kafka_of(context.obj), registry_of(context.obj))).items():
                    table.add_row(name, f"{count:,}", reason)
        console.print(table if table.row_count else "No dead letters.", soft_wrap=True)


@app.command()
def replay(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="That a feed or a query reads, and could not.")],
    send: Annotated[bool, typer.Option("--send", help="Send what can be read now; without it, only count it.")] = False,
    since: Annotated[
        dt.datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only what was dead-lettered on that date or later.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Only letters whose reason contains this.")] = "",
) -> None:
    """Send what can be read by now back to its topic, once: after its schema was registered, its contract or query corrected.

    It comes to all that read the topic, to those that could read it before as well. A query that was corrected must have been
    started again: until then it goes by its older declaration.
    """
    with failures_reported():
        if topic not in topics_read():
            raise StackError(f"neither a feed nor a query reads {topic!r}", remedy=f"one of: {', '.join(sorted(topics_read()))}")
        say = progress()
        if send:
            say(f"{topic} is read by {', '.join(_readers(topic))}: what is sent again comes to each of them")
        conf = {"topic": topic, "send": send, "since": since and since.date().isoformat(), "reason": reason}
        for line in batch_run.run(context.obj, "replay_dead_letters", "replay_dead_letters", conf, say):
            console.print(line, soft_wrap=True, markup=False)


def _readers(topic: str) -> list[str]:
    """The declared feed and queries that read it."""
    return [*({topic} & load_feeds().keys()), *queries_reading(topic)]


def _reasons(reader: Reader) -> dict[str, int]:
    """Records by reason, the most frequent first. One that several could not read is one: its letters have one key. One without a
    reason was taken back: `sundial alerts retry`."""
    try:
        letters = reader.records(follow=False, only_new=False)
        last = {letter["key"]: letter.get("headers", {}).get("reason") for letter in letters}
    finally:
        reader.close()
    return dict(Counter(reason for reason in last.values() if reason).most_common())
