"""`sundial bootstrap`: past readings from a file into a feed's history, its first baseline from them, and their incidents."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from contracts.captures import UNITS
from contracts.feeds import load_feed
from sources.options import COLUMNS, LocalZone, OneService, Separator, ServiceNames, Times, TimesFormat, Values, ValueScale
from stack.commands.console import console, failures_reported, progress
from stack.errors import StackError
from stack.instance import Instance
from stack.parts import batch_run


def bootstrap(
    context: typer.Context,
    feed: Annotated[str, typer.Argument(metavar="FEED", help="As `sundial feeds` shows it.")],
    path: Annotated[str, typer.Option("--from", metavar="FILE", help="CSV, JSON lines or Parquet, a folder of them, or a URI.")],
    service: OneService = None,
    service_column: ServiceNames = None,
    time_column: Times = None,
    value_column: Values = None,
    value_scale: ValueScale = None,
    timezone: LocalZone = None,
    time_unit: Annotated[
        str | None, typer.Option(metavar="|".join(UNITS), rich_help_panel=COLUMNS, help="Of times that are numbers.")
    ] = None,
    time_format: TimesFormat = None,
    separator: Separator = "comma",
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="Date of the baseline. Default: the day after the last in history.")
    ] = None,
) -> None:
    """Have Airflow load past readings into a feed's history, build, check and promote a baseline from them, and find their
    incidents.

    Every mistake in the file is listed, and then nothing is loaded. What is checked: docs/bootstrap.md.

    [bold]Example[/bold]

    [cyan]sundial bootstrap road-traffic --from samples/metro_interstate_traffic_volume.csv.gz --service I-94
    --time-column date_time --value-column traffic_volume[/cyan]
    """
    columns = {"service": service, "service_column": service_column, "time_column": time_column, "value_column": value_column}
    times = {"timezone": timezone, "time_unit": time_unit, "time_format": time_format.text if time_format else None}
    more: dict[str, str | int | None] = {"value_scale": value_scale, "separator": separator, "as_of": as_of}
    conf = {**columns, **times, **more}
    with failures_reported():
        load(context.obj, feed, path, conf, progress())


def load(instance: Instance, feed: str, path: str, conf: Mapping[str, str | int | None], say: Callable[[str], None]) -> None:
    """conf: parameters of the DAG `bootstrap_feed`; those that are null keep their defaults.

    The query of incidents begins a feed with what the detector's walk through history has left. Without that, it has to learn
    from new readings for days before it finds an incident.
    """
    load_feed(feed)
    if "://" not in path:
        if not Path(path).exists():
            raise StackError(f"no such file or folder: {path}", remedy="name one that the machine of the stack can read")
        path = str(Path(path).resolve())  # Airflow runs elsewhere
    given = {name: value for name, value in conf.items() if value is not None}
    loaded = batch_run.run(instance, f"bootstrap_feed.{feed}", "bootstrap", {"path": path} | given, say)
    walked = batch_run.run(instance, f"find_incidents.{feed}", "find_incidents", {}, say)
    for line in [*loaded, *walked[-1:]]:
        console.print(line, soft_wrap=True, markup=False)
