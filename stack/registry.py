"""The schema registry of the embedded stack: Apicurio Registry with the Confluent API; its data lives in Kafka topics."""

import httpx

from stack import java, process
from stack.errors import StackError
from stack.home import HOST, JARS, ROOT, Home

NAME = "registry"


def part(home: Home) -> process.Part:
    archives = list((JARS / "registry").glob("*/apicurio-registry-app-*-runner.jar"))
    if len(archives) != 1:
        raise StackError(f"{JARS / 'registry'} holds {len(archives)} unpacked registries, expected one", remedy="make jars")
    folder = home.path / "registry"
    folder.mkdir(exist_ok=True)
    settings = {
        "quarkus.config.locations": ROOT / "docker/registry/application.properties",
        "quarkus.http.host": HOST,
        "quarkus.http.port": home.ports["registry"],
        "apicurio.kafkasql.bootstrap.servers": home.kafka,
        "apicurio.import.work-dir": folder,
        "apicurio.storage.snapshot.location": folder,
        "java.io.tmpdir": folder,
    }
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *(f"-D{key}={value}" for key, value in settings.items())]
    return process.Part(
        name=NAME,
        command=[str(java.binary()), *flags, "-jar", str(archives[0])],
        environment=home.process_environment(),
        healthy=lambda: healthy(home),
        port=home.ports["registry"],
        folder=folder,
    )


def healthy(home: Home) -> bool:
    """The Confluent API answers, which it does only once the journal in Kafka has been read."""
    try:
        return httpx.get(f"{home.registry}/subjects", timeout=3).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def start(home: Home) -> None:
    process.start(home, part(home))
    process.wait(home, part(home))
