"""docker-compose.yml and docker/Dockerfile as data: anchors merged, variables filled in, instructions by stage."""

import json
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES: dict[str, dict] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
SECRET = re.compile(r"PASSWORD|SECRET|FERNET_KEY|JWT|SQL_ALCHEMY_CONN")
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::([?-])([^}]*))?\}")


def filled(value, variables: dict[str, str]):
    """A value of the file with `${NAME:?…}` and `${NAME:-default}` replaced, as compose does it."""
    if isinstance(value, dict):
        return {key: filled(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, variables) for each in value]
    if isinstance(value, str):
        return VARIABLE.sub(lambda found: variables.get(found[1]) or (found[3] if found[2] == "-" else ""), value)
    return value


def secrets(folder: Path) -> dict[str, str]:
    """What docker/secrets.sh writes into .env of that folder; certificates are in its .secrets."""
    subprocess.run([ROOT / "docker/secrets.sh", folder], check=True, capture_output=True, text=True)
    return dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines())


@dataclass
class Stage:
    """A stage of the Dockerfile: what it is made from, and its instructions."""

    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, name: str) -> list[str]:
        return [argument for instruction, argument in self.instructions if instruction == name]

    def env(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for line in self.of("ENV") for pair in line.split())


@cache
def stages() -> dict[str, Stage]:
    text = re.sub(r"\\\n", " ", "\n".join(line for line in dockerfile().splitlines() if not line.startswith("#")))
    found: dict[str, Stage] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        instruction, argument = line.split(None, 1)
        if instruction == "FROM":
            base, _, name = argument.split()
            stage = found[name] = Stage(base)
        else:
            stage.instructions.append((instruction, argument))
    return found


def dockerfile() -> str:
    return (ROOT / "docker/Dockerfile").read_text()


def health_of(service: dict) -> list[str] | None:
    """A service's health check: its own, or its image's; None where it is not to have one."""
    own = service.get("healthcheck", {})
    if own.get("disable"):
        return None
    if own:
        return own["test"][1:]
    (check,) = stages()[service["build"]["target"]].of("HEALTHCHECK")
    return json.loads(check[check.index("CMD") + 3 :])
