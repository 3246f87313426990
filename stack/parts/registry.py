"""The schema registry of the embedded stack: Apicurio Registry with the Confluent API; its data lives in Kafka topics."""

import httpx

from stack.errors import StackError
from stack.install import java
from stack.instance import HOST, JARS, ROOT, Instance
from stack.parts import process

NAME = "registry"


def part(instance: Instance) -> process.Part:
    archives = list((JARS / "registry").glob("*/apicurio-registry-app-*-runner.jar"))
    if len(archives) != 1:
        raise StackError(f"{JARS / 'registry'} holds {len(archives)} unpacked registries, expected one", remedy="make jars")
    folder = instance.path / "registry"
    folder.mkdir(exist_ok=True)
    settings = {
        "quarkus.config.locations": ROOT / "docker/registry/application.properties",
        "quarkus.http.host": HOST,
        "quarkus.http.port": instance.ports["registry"],
        "apicurio.kafkasql.bootstrap.servers": instance.kafka,
        "apicurio.import.work-dir": folder,
        "apicurio.storage.snapshot.location": folder,
        "java.io.tmpdir": folder,
    }
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *(f"-D{key}={value}" for key, value in settings.items())]
    return process.Part(
        name=NAME,
        command=[str(java.binary()), *flags, "-jar", str(archives[0])],
        environment=instance.process_environment(),
        healthy=lambda: healthy(instance),
        port=instance.ports["registry"],
        folder=folder,
    )


def healthy(instance: Instance) -> bool:
    """The Confluent API answers, which it does only once the journal in Kafka has been read."""
    try:
        return httpx.get(f"{instance.registry}/subjects", timeout=3).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def start(instance: Instance) -> None:
    process.start(instance, part(instance))
    process.wait(instance, part(instance))
