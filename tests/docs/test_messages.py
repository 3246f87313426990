"""docs/when-it-needs-you.md quotes messages as the code has them, and commands that there are."""

import ast
import re
from functools import cache

import pytest
import typer

from stack.commands.cli import app
from stack.instance import ROOT
from tests.test_house import ROOMS, files

PAGE = (ROOT / "docs/when-it-needs-you.md").read_text()
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
ELSEWHERE = {  # messages of other programs
    "No space left on device": "Linux",
}
NO_MESSAGES = re.compile(r"[\w/.<>-]+|(GET /|sundial ).*")  # states, files, folders; requests; commands
ANY = "…"  # stands for what differs
PLACEHOLDER = re.compile(r"%[sd]|%\.\df")  # of a logged message


def quoted() -> list[str]:
    """What the first column of each table quotes, but for names and commands."""
    found = [code for row in ROWS for code in re.findall(r"`([^`]+)`", row[0])]
    return sorted({code for code in found if not NO_MESSAGES.fullmatch(code)})


@cache
def texts() -> dict[str, str]:
    """By file, all its texts, with ANY where something is filled in."""
    found = {}
    for file in (file for room in sorted(ROOMS - {"tests", "bench"}) for file in files(room)):
        nodes = ast.walk(ast.parse(file.read_text()))
        found[str(file)] = "\n".join(_text(node) for node in nodes if isinstance(node, ast.JoinedStr | ast.Constant))
    return found


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    whole = "".join(part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ANY for part in parts)
    return PLACEHOLDER.sub(ANY, whole).replace("`", "")


@pytest.mark.parametrize("message", quoted())
def test_a_message_is_one_of_the_code(message):
    if message in ELSEWHERE:
        return
    pieces = [piece for piece in message.split(ANY) if piece.strip(" ;:,.")]
    assert pieces
    assert any(all(piece in text for piece in pieces) for text in texts().values())


def test_messages_are_found_on_the_page():
    assert len(quoted()) > 70
    assert set(ELSEWHERE) <= set(quoted())


def test_commands_are_those_of_sundial():
    commands = set(re.findall(r"`sundial ([a-z][\w-]*(?: [a-z][\w-]*)?)", PAGE))
    there = typer.main.get_group(app).commands
    for command in commands:
        name, _, sub = command.partition(" ")
        assert name in there
        assert sub in getattr(there[name], "commands", {sub})
