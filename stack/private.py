"""What only the owner of a stack may read: the secrets that it generates, and files that contain them."""

import json
import secrets
from pathlib import Path

# Bytes of chance in each: the keys of Airflow's API and of its tokens, the password of its user and of Kafka Connect's;
# what signs logins to the dashboard.
GENERATED = {"jwt": 64, "api": 64, "password": 12, "connect": 12, "session": 48}


def write(file: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    file.touch(mode=0o600)
    file.write_text(text)


def replace(file: Path, text: str) -> None:
    """As `write`; a reader finds the old text or the new one."""
    draft = file.with_name(f".{file.name}.draft")
    write(draft, text)
    draft.replace(file)


def kept(file: Path) -> dict[str, str]:
    """The secrets in a file, by name. Those that it lacks are generated and added: an older Sundial may have made it."""
    found = json.loads(file.read_text()) if file.exists() else {}
    missing = {name: secrets.token_urlsafe(count) for name, count in GENERATED.items() if name not in found}
    if missing:
        write(file, json.dumps(found | missing))
    return found | missing
