"""Readings for a feed: replayed from a capture, or simulated. Also mounted as `sundial replay`, `simulate` and `send`."""

import typer

from sources.replay_command import replay
from sources.send_command import send
from sources.simulate_command import simulate

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False, help=__doc__)
app.command("replay")(replay)
app.command("simulate")(simulate)
app.command("send")(send)

if __name__ == "__main__":
    app()
