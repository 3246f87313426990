"""Who may do what in a Kafka that asks for passwords: one user for each kind of client, with as much as it needs.

A rule allows; what no rule allows is refused. Reading or writing includes seeing the topic. Sundial's own clients join no
group: those that librdkafka makes name one, may ask for its coordinator, and no more. Spark's do not even ask.
"""

from collections.abc import Iterable, Mapping

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from contracts.alerts import ALERTS, DEAD, TRANSACTION, Route
from contracts.declarations import dead_letter_topic
from contracts.feeds import Feed
from contracts.kafka_credentials import KafkaCredentials
from contracts.queries import COMMITS, TRANSACTIONS, Query
from stack.deploy.cluster import FOREVER, REGISTRY_EVENTS, admin
from stack.errors import StackError

# The superuser is no such user: its password is set when the brokers' folders are formatted.
USERS = {
    "streams": "scores and queries: reads the feeds and the queries' inputs, writes what is derived of them",
    "batch": "archives and repairs: reads the feeds and what queries read, replays their dead letters, rewrites summaries",
    "serving": "reads what is derived of the feeds and the tables of queries, and keeps who was notified of incidents",
    "sources": "produces: writes the feeds and what queries read and none writes",
    "registry": "keeps the contracts",
}
REGISTRY_GROUPS = "apicurio-"
NAMED_GROUPS = {"serving": "sundial-serving", "batch": "sundial-archive", "streams": "sundial-streams"}
ITERATIONS = 8192  # of SCRAM's hash; Kafka's default is 4096
WAIT = 30


def wanted(feeds: Iterable[Feed], queries: Iterable[Query], routes: Iterable[Route] = ()) -> list[AclBinding]:
    """Every rule, for these feeds, queries and routes of alerts."""
    rules = _of_queries(list(queries), {topic.name for feed in feeds for topic in feed.topics})
    for feed in feeds:
        rules += [_topic(user, AclOperation.WRITE, feed.topic) for user in ("sources", "batch")]
        rules += [_topic(user, AclOperation.READ, feed.topic) for user in ("streams", "batch")]
        derived = (feed.scored_topic, feed.anomalies_topic, feed.dead_letter_topic)
        rules += [_topic("streams", AclOperation.WRITE, topic) for topic in derived]
        rules += [_topic("batch", operation, feed.dead_letter_topic) for operation in (AclOperation.READ, AclOperation.WRITE)]
        rules += [_topic("batch", AclOperation.READ, feed.incidents_topic)]  # people judge an incident of today
        shown = (feed.scored_topic, feed.anomalies_topic, feed.incidents_topic, feed.dead_letter_topic)
        rules += [_topic("serving", AclOperation.READ, topic) for topic in shown]
    if list(routes):
        kept = (ALERTS.name, DEAD.name)
        rules += [_topic("serving", operation, topic) for topic in kept for operation in (AclOperation.READ, AclOperation.WRITE)]
        kind = ResourceType.TRANSACTIONAL_ID
        rules += [_rule("serving", AclOperation.WRITE, kind, TRANSACTION, ResourcePatternType.PREFIXED)]
    for topic in FOREVER:
        rules += [_topic("registry", operation, topic) for operation in (AclOperation.READ, AclOperation.WRITE)]
    rules += [_topic("registry", AclOperation.WRITE, REGISTRY_EVENTS)]
    for user, group in NAMED_GROUPS.items():
        rules += [_rule(user, AclOperation.DESCRIBE, ResourceType.GROUP, group, ResourcePatternType.LITERAL)]
    rules += [_rule("registry", AclOperation.READ, ResourceType.GROUP, REGISTRY_GROUPS, ResourcePatternType.PREFIXED)]
    return list(dict.fromkeys(rules))


def _of_queries(queries: list[Query], of_feeds: set[str]) -> list[AclBinding]:
    read = dict.fromkeys(each.topic for query in queries for each in query.inputs.values())
    written = dict.fromkeys(each.topic for query in queries for each in query.outputs)
    dead = [dead_letter_topic(topic) for topic in {**read, **written}]
    rules = [_topic("streams", AclOperation.READ, topic) for topic in read]
    rules += [_topic("streams", AclOperation.WRITE, topic) for topic in [*written, *dead]]
    tables = dict.fromkeys(each.topic for query in queries for each in query.outputs if each.compacted)
    rules += [_topic("serving", AclOperation.READ, topic) for topic in tables]
    rules += [_topic("sources", AclOperation.WRITE, topic) for topic in read if topic not in {*written, *of_feeds}]
    rules += [_topic("batch", operation, topic) for topic in read for operation in (AclOperation.READ, AclOperation.WRITE)]
    rules += [_topic("batch", AclOperation.READ, dead_letter_topic(topic)) for topic in read]
    repaired = dict.fromkeys(each.topic for query in queries if query.repaired for each in query.outputs)
    rules += [_topic("batch", operation, topic) for topic in repaired for operation in (AclOperation.READ, AclOperation.WRITE)]
    if any(query.exactly_once for query in queries):
        rules += [_topic("streams", operation, COMMITS.name) for operation in (AclOperation.READ, AclOperation.WRITE)]
        kind, prefixed = ResourceType.TRANSACTIONAL_ID, ResourcePatternType.PREFIXED
        rules += [_rule("streams", AclOperation.WRITE, kind, TRANSACTIONS, prefixed)]
    return rules


def _topic(user: str, operation: AclOperation, topic: str) -> AclBinding:
    return _rule(user, operation, ResourceType.TOPIC, topic, ResourcePatternType.LITERAL)


def _rule(user: str, operation: AclOperation, kind: ResourceType, name: str, pattern: ResourcePatternType) -> AclBinding:
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


def describe(rule: AclBinding) -> str:
    """A rule for people."""
    many = "*" if rule.resource_pattern_type == ResourcePatternType.PREFIXED else ""
    return f"{rule.principal}  {AclOperation(rule.operation).name}  {ResourceType(rule.restype).name}  {rule.name}{many}"


def deploy(
    bootstrap: str,
    superuser: KafkaCredentials,
    feeds: Iterable[Feed],
    queries: Iterable[Query],
    env: Mapping[str, str],
    routes: Iterable[Route] = (),
) -> list[str]:
    """Set every user's password and make their rules exactly those wanted; says what it did.

    Rules of other users are left alone: those of a producer of your own, for instance.
    """
    variables = {user: f"KAFKA_{user.upper()}_PASSWORD" for user in USERS}
    if missing := [name for name in variables.values() if not env.get(name)]:
        raise StackError(f"not set: {', '.join(missing)}", remedy="give each user a password; docker/secrets.sh makes them")
    client = admin(bootstrap, superuser)
    done = set_passwords(client, {user: env[name] for user, name in variables.items()})
    return done + set_rules(client, set(wanted(feeds, queries, routes)))


def set_passwords(client: AdminClient, passwords: Mapping[str, str]) -> list[str]:
    """Set each user's password, known or not: Kafka does not tell whether it is the same."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    changes: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode()) for user, password in passwords.items()
    ]
    for future in client.alter_user_scram_credentials(changes, request_timeout=WAIT).values():
        future.result(timeout=WAIT)
    return [f"password set: {user}" for user in passwords]


def set_rules(client: AdminClient, rules: set[AclBinding]) -> list[str]:
    """Create the rules that are missing, delete those of these users that are not wanted."""
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    found = client.describe_acls(everything, request_timeout=WAIT).result(timeout=WAIT)
    of_users = {rule for rule in found if rule.principal.removeprefix("User:") in USERS}
    if missing := sorted(rules - of_users, key=describe):
        for future in client.create_acls(missing, request_timeout=WAIT).values():
            future.result(timeout=WAIT)
    surplus = sorted(of_users - rules, key=describe)
    for rule in surplus:
        exactly = AclBindingFilter(
            rule.restype,
            rule.name,
            rule.resource_pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission_type,
        )
        client.delete_acls([exactly], request_timeout=WAIT)[exactly].result(timeout=WAIT)
    return [f"allowed: {describe(rule)}" for rule in missing] + [f"no longer allowed: {describe(rule)}" for rule in surplus]
