"""What docs/when-it-needs-you.md names: a run may need a person for that, and for nothing else."""

import re
from functools import cached_property
from pathlib import Path

ANY = "…"  # stands for what differs
LEAST = 12  # letters of a message without what differs; less would match anything


class Page:
    def __init__(self, file: Path):
        self._text = file.read_text()

    @cached_property
    def messages(self) -> dict[str, re.Pattern]:
        """Each message that the first column of a table quotes, as what matches it."""
        rows = (line.strip("|").split(" | ") for line in self._text.splitlines() if line.startswith("| "))
        quoted = {code for row in rows for code in re.findall(r"`([^`]+)`", row[0])}
        found = {each: [piece for piece in each.split(ANY) if piece.strip(" ;:,.")] for each in quoted}
        return {
            each: re.compile(".*?".join(map(re.escape, pieces)), re.DOTALL)
            for each, pieces in found.items()
            if sum(map(len, pieces)) >= LEAST
        }

    def names(self, text: str) -> list[str]:
        """The messages of the page that stand in that text, sorted."""
        return sorted(message for message, pattern in self.messages.items() if pattern.search(text))
