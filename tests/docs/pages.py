"""Pages of `docs/`, read as a person does who types each command and compares what comes with what the page shows."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent.parent
MARK = "--- typed ---"


@dataclass(frozen=True)
class Step:
    """A block of commands (```bash), and the block of text that the page shows after it (```text), if any; `…` is anything."""

    line: int
    commands: str
    shown: str | None

    def matches(self, seen: str) -> bool:
        return self.shown is None or bool(
            re.fullmatch(re.escape(self.shown.strip()).replace("…", ".*?"), seen.strip(), re.DOTALL)
        )


def steps(page: str) -> list[Step]:
    fences = [token for token in MarkdownIt().parse((ROOT / "docs" / page).read_text()) if token.type == "fence"]
    followers = [*fences[1:], None]
    return [
        Step(fence.map[0] + 1, fence.content, after.content if after and after.info == "text" else None)
        for fence, after in zip(fences, followers, strict=True)
        if fence.info == "bash"
    ]


def typed(steps: list[Step], environment: dict[str, str], seconds: float) -> list[str]:
    """What each step printed, all typed into one shell in the repository's folder."""
    script = "".join(f"{step.commands}\necho '{MARK}'\n" for step in steps)
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env=os.environ | environment | {"PATH": path, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    return shell.stdout.split(MARK + "\n")[:-1]
