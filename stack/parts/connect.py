"""A Kafka Connect worker (standalone) beside the stack: it runs the connectors that it was started with, and ends with the stack.

How far its sources are is kept in the stack's folder: a worker that is started again goes on from there. Its REST API asks for a
password, because who may use it may have the worker read any file and write any topic.
"""

from pathlib import Path

import httpx

from stack import private
from stack.errors import StackError
from stack.instance import HOST, JARS, Instance, free_ports
from stack.parts import kafka, process

NAME = "connect"
MAIN = "org.apache.kafka.connect.cli.ConnectStandalone"
BASIC = "org.apache.kafka.connect.rest.basic.auth.extension"
USER = "connect"
TEXT = "org.apache.kafka.connect.storage.StringConverter"


def start(instance: Instance, connectors: list[Path]) -> None:
    """Start a worker with the connectors of these files in place of the one that runs, and wait until all their tasks run."""
    if missing := [str(each) for each in connectors if not each.is_file()]:
        raise StackError(f"no such file: {', '.join(missing)}", remedy="name files of connectors' settings, .properties or .json")
    if not kafka.healthy(instance):
        raise StackError("Kafka does not run", remedy="sundial up")
    if not list((JARS / NAME).glob("connect-runtime-[0-9]*.jar")):
        raise StackError(f"{JARS / NAME} does not hold Kafka Connect", remedy="make jars")
    process.stop(instance, NAME)
    part = _part(instance, [each.resolve() for each in connectors], *free_ports(1))
    process.start(instance, part)
    process.wait(instance, part)


def _part(instance: Instance, connectors: list[Path], port: int) -> process.Part:
    folder = instance.path / NAME
    folder.mkdir(exist_ok=True)
    worker = folder / "worker.properties"
    worker.write_text("".join(f"{key}={value}\n" for key, value in _settings(instance, port).items()))
    login = _login(folder, instance.secrets["connect"])
    jvm = ["-Xmx256m", f"-Djava.security.auth.login.config={login}"]
    command = kafka.command(MAIN, worker, *connectors, jvm=jvm, libraries=("kafka", NAME))
    return process.Part(
        name=NAME,
        command=command,
        environment=instance.process_environment(),
        healthy=lambda: _healthy(port, (USER, instance.secrets["connect"]), len(connectors)),
        port=port,
        folder=Path.cwd(),  # files that a connector names are as seen from here
    )


def _login(folder: Path, password: str) -> Path:
    """The file that says how the REST API knows its user; the password is in another, as Connect's login module wants it."""
    users, login = folder / "users.properties", folder / "login.conf"
    private.write(users, f"{USER}: {password}\n")
    private.write(login, f'KafkaConnect {{\n  {BASIC}.PropertyFileLoginModule required file="{users}";\n}};\n')
    return login


def _settings(instance: Instance, port: int) -> dict[str, object]:
    """Records of text, unless a connector says otherwise. A source confirms what it read once all in-sync brokers have it."""
    return {
        "bootstrap.servers": instance.kafka,
        "key.converter": TEXT,
        "value.converter": TEXT,
        "offset.storage.file.filename": instance.path / NAME / "offsets",
        "offset.flush.interval.ms": 1000,
        "listeners": f"http://{HOST}:{port}",
        "rest.extension.classes": f"{BASIC}.BasicAuthSecurityRestExtension",
        "plugin.discovery": "service_load",
    }


def _healthy(port: int, login: tuple[str, str], connectors: int) -> bool:
    """All connectors and their tasks run. Raises StackError with the reason why one has failed."""
    try:
        found = httpx.get(f"http://{HOST}:{port}/connectors?expand=status", auth=login, timeout=3).json()
    except (httpx.TransportError, ValueError):
        return False
    states = [part for each in found.values() for part in (each["status"]["connector"], *each["status"]["tasks"])]
    if failed := [part["trace"].splitlines()[0] for part in states if part["state"] == "FAILED"]:
        raise StackError(f"a connector failed: {'; '.join(failed)}", remedy="correct its settings, then: sundial connect")
    return len(found) == connectors and all(each["status"]["tasks"] for each in found.values()) and _run(states)


def _run(states: list[dict]) -> bool:
    return {part["state"] for part in states} == {"RUNNING"}
