"""`sundial topics`, `sundial access`: what a Kafka must have for the declarations, and who may do what there."""

import os
from typing import Annotated

import typer

from contracts.alerts import load_routes
from contracts.declared_topics import declared_topics
from contracts.feeds import load_feeds
from contracts.queries import load_queries
from stack.commands.console import console, failures_reported, kafka_of
from stack.deploy import acls, cluster
from stack.deploy import topics as topics_


def topics(
    context: typer.Context,
    deploy: Annotated[bool, typer.Option("--deploy", help="Create and change them.")] = False,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Brokers that keep each record of a new topic; 3 unless there are fewer.")
    ] = None,
    with_registry: Annotated[bool, typer.Option("--with-registry", help="Apicurio Registry's topics too.")] = False,
) -> None:
    """The topics that are declared; with --deploy, make Kafka (SUNDIAL_KAFKA, or else the embedded one) have them."""
    with failures_reported():
        declared = declared_topics()
        for name, topic in topics_.wanted(declared, replication).items():
            console.print(f"{name}  {topic.num_partitions} partitions  {topic.config}")
        if deploy:
            address, as_whom = kafka_of(context.obj)
            copies = replication or cluster.replication(address, as_whom)
            more = cluster.of_registry(copies) if with_registry else []
            for change in topics_.deploy(address, declared, copies, as_whom, more) or ["nothing to change"]:
                console.print(change)


def access(
    context: typer.Context,
    deploy: Annotated[bool, typer.Option("--deploy", help="Set passwords and rules.")] = False,
) -> None:
    """Who may do what in a Kafka that asks for passwords; with --deploy, make it so.

    The passwords to set are in KAFKA_<USER>_PASSWORD; SUNDIAL_KAFKA_* name the brokers and the superuser who sets them.
    """
    with failures_reported():
        feeds, queries, routes = load_feeds().values(), load_queries().values(), load_routes().values()
        for rule in acls.wanted(feeds, queries, routes):
            console.print(acls.describe(rule))
        if deploy:
            for change in acls.deploy(*kafka_of(context.obj), feeds, queries, os.environ, routes):
                console.print(change)
