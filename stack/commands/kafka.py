"""`sundial kafka`: Kafka's own command-line tools, on the brokers of this stack."""

import os
import sys
from typing import Annotated

import typer

from stack.commands.console import failures_reported
from stack.errors import StackError
from stack.instance import JARS, Instance
from stack.parts import kafka as brokers

TOOLS = {  # by the names that their scripts have in Kafka's bin folder: kafka-<name>.sh
    "configs": "kafka.admin.ConfigCommand",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
}
LOGGING = "tools-log4j2.properties"
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


def kafka(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help=f"One of {', '.join(TOOLS)}.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="As the tool takes them; --help shows them.")] = None,
) -> None:
    """One of Kafka's own tools, on the brokers of this stack: sundial kafka topics --describe --topic service-use"""
    if tool in ("--help", "-h"):
        typer.echo(context.get_help())
        return
    with failures_reported():
        command = _command(context.obj, tool, arguments or [])
        sys.stdout.flush()
        os.execv(command[0], command)  # noqa: S606 (there is nothing for a shell to do)


def _command(instance: Instance, tool: str, arguments: list[str]) -> list[str]:
    """Raises StackError naming the tools there are."""
    if tool not in TOOLS:
        raise StackError(f"no tool {tool!r}", remedy=f"one of: {', '.join(TOOLS)}; each says its options with --help")
    if not list((JARS / "kafka").glob("kafka-tools-[0-9]*.jar")):
        raise StackError(f"{JARS / 'kafka'} does not hold Kafka's tools", remedy="make jars")
    return brokers.command(TOOLS[tool], "--bootstrap-server", instance.kafka, *arguments, jvm=brokers.BRIEF, logging=LOGGING)
