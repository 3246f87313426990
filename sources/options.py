"""Options that several commands share: `replay` and `simulate`, and what reads a capture."""

from typing import Annotated

import typer

from contracts.captures import HIGHEST_SCALE, SEPARATORS
from contracts.time_formats import EXAMPLE, TimeFormat, TimeFormatError
from sources.producer import Acks

TIMESTAMP = "now, -35d, 1998-06-10 or '1998-06-10 17:30', local time of the feed"


def _time_format(text: str) -> TimeFormat:
    try:
        return TimeFormat.parsed(text)
    except TimeFormatError as error:
        raise typer.BadParameter(f"{text!r} is no format of times: {error}; for example {EXAMPLE}") from error


FeedName = Annotated[str, typer.Option("--feed", "-f", metavar="FEED", help="One of the feeds declared in schemas/feeds/.")]
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
COLUMNS = "How the capture's columns map to readings"
ServiceNames = Annotated[
    str | None, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Service names. Default: the feed's key.")
]
OneService = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=COLUMNS, help="One service for all rows; no column of names.")
]
Times = Annotated[
    str | None, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Times. Default: the feed's time field.")
]
Values = Annotated[
    str | None, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Values. Default: the feed's value field.")
]
ValueScale = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=HIGHEST_SCALE,
        metavar="N",
        rich_help_panel=COLUMNS,
        help="Multiply values by N and round them: 1000 counts 2.5 s as 2500 ms.",
    ),
]
LocalZone = Annotated[
    str | None, typer.Option(metavar="ZONE", rich_help_panel=COLUMNS, help="Of times without an offset. Default: the feed's.")
]
TimesFormat = Annotated[
    TimeFormat | None,
    typer.Option(
        "--time-format",
        parser=_time_format,
        metavar="FORMAT",
        rich_help_panel=COLUMNS,
        help=f"How times are written that are not ISO 8601: {EXAMPLE}, as for strptime.",
    ),
]
Separator = Annotated[
    str, typer.Option(metavar="|".join(SEPARATORS), rich_help_panel=COLUMNS, help="What stands between the fields of a CSV.")
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
