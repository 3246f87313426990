"""Options that `sundial replay` and `sundial simulate` share."""

from typing import Annotated

import typer

from sources.producer import Acks

TIMESTAMP = "now, -35d, 1998-06-10 or '1998-06-10 17:30', local time of the feed"

FeedName = Annotated[str, typer.Option("--feed", "-f", metavar="FEED", help="One of the feeds declared in schemas/feeds/.")]
Speed = Annotated[float, typer.Option(min=0, metavar="N", help="N times real time; 0: as fast as Kafka takes it.")]
Kafka = Annotated[
    str | None,
    typer.Option(
        "--kafka", envvar="SUNDIAL_KAFKA", metavar="HOST:PORT", rich_help_panel="Platform", help="Kafka bootstrap servers."
    ),
]
ConfirmedBy = Annotated[
    Acks,
    typer.Option("--acks", rich_help_panel="Platform", help="Brokers that confirm an event: all, 1 (the leader) or 0."),
]
Registry = Annotated[
    str | None,
    typer.Option(
        "--registry",
        envvar="SUNDIAL_REGISTRY",
        metavar="URL",
        rich_help_panel="Platform",
        help="The schema registry's Confluent API.",
    ),
]
