"""How a file writes its times where that is not ISO 8601: in the directives of strptime, such as `%d.%m.%Y %H:%M`.

A format becomes one regular expression, which Arrow and Spark match alike. What its groups match is put together as ISO 8601,
which both read already. So a time means the same to `sundial new feed`, to the jobs, to a replay and to a backtest.
"""

import re
from dataclasses import dataclass

# The directives of strptime, as the C locale has them: https://docs.python.org/3.11/library/datetime.html#format-codes
GROUPS = {
    "%Y": r"\d{4}",
    "%y": r"\d\d",  # 69 to 99 are of the last century, as in POSIX
    "%m": r"\d{1,2}",
    "%b": r"[A-Za-z]{3}",
    "%d": r"\d{1,2}",
    "%H": r"\d{1,2}",
    "%I": r"\d{1,2}",
    "%p": r"[AaPp][Mm]",
    "%M": r"\d\d",
    "%S": r"\d\d",
    "%f": r"\d{1,9}",
    "%z": r"Z|[+-]\d\d:?\d\d",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
FIRST_SHORT_YEAR = 69
EXAMPLE = "%d.%m.%Y %H:%M"
# What needs what: a directive, and those of which one must be there too.
_NEEDS = {"%H": ("%M",), "%I": ("%p",), "%p": ("%I",), "%M": ("%H", "%I"), "%S": ("%M",), "%f": ("%S",), "%z": ("%M",)}


class TimeFormatError(ValueError):
    """A text that is no format of times; the message says why."""


@dataclass(frozen=True)
class TimeFormat:
    """text: as it was given. parts: its directives, blanks and other characters, in their order."""

    text: str
    parts: tuple[str, ...]

    @classmethod
    def parsed(cls, text: str) -> "TimeFormat":
        """Raises TimeFormatError."""
        found = cls(text, tuple(re.findall(r"%.?|\s+|[^%\s]", text.strip())))
        given = found.directives
        if unknown := [each for each in given if each not in GROUPS]:
            raise TimeFormatError(f"{unknown[0]!r} is none of the directives {' '.join(GROUPS)}")
        if twice := [each for each in given if given.count(each) > 1]:
            raise TimeFormatError(f"{twice[0]} stands twice in it")
        for one, other in (("%Y", "%y"), ("%m", "%b"), ("%H", "%I")):
            if {one, other} <= set(given):
                raise TimeFormatError(f"{one} and {other} exclude each other")
        for names in (("%Y", "%y"), ("%m", "%b"), ("%d",)):
            if not set(names) & set(given):
                raise TimeFormatError(f"{' or '.join(names)} is missing: a time has a year, a month and a day")
        for each in given:
            if each in _NEEDS and not set(_NEEDS[each]) & set(given):
                raise TimeFormatError(f"{each} needs {' or '.join(_NEEDS[each])}")
        return found

    @property
    def directives(self) -> tuple[str, ...]:
        """In the order of the pattern's groups, the first of which is 1."""
        return tuple(part for part in self.parts if part.startswith("%") and part != "%%")

    def pattern(self, group: str = "(") -> str:
        """A regular expression of a whole time, in the syntax that RE2 and Java share. group: what begins a group; where groups
        have names, `(?P<{}>`, with the directive's letter for the braces."""
        return rf"^\s*{''.join(_matched(part, group) for part in self.parts)}\s*$"


def _matched(part: str, group: str) -> str:
    """The regular expression of a directive, of blanks, or of one other character."""
    if part in GROUPS:
        return f"{group.format(part[1])}{GROUPS[part]})"
    if part.isspace():
        return r"\s+"
    character = part[-1]  # of %%, too
    return rf"\{character}" if character.isascii() and not character.isalnum() and character != "_" else character
