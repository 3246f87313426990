"""The rules that declarations make; what a broker does with them is for tests/docker/test_secure_broker.py."""

from contracts.alerts import Route
from contracts.feeds import load_feeds
from contracts.queries import Query, load_queries
from stack.deploy.acls import describe, wanted


def query(name: str, reads: str, writes: str, **more) -> Query:
    source = {"topic": reads, "record": "service_use_record", "key": {"column": "ServiceName"}}
    output = {"topic": writes, "record": "service_use_record", "key": "ServiceName"}
    declared = {"description": "of the test", "inputs": {"calls": source}, "sql": "SELECT * FROM calls", "outputs": [output]}
    return Query(name=name, **declared, **more)


def test_queries_may_read_their_inputs_and_write_their_outputs_and_dead_letters():
    feeds = load_feeds().values()
    queries = [query("one", "clicks", "few"), query("two", "few", "fewer"), query("three", "service-use", "calls")]
    added = {describe(rule) for rule in wanted(feeds, queries)} - {describe(rule) for rule in wanted(feeds, [])}
    written = ["few", "fewer", "calls", *(f"{topic}.dead-letter" for topic in ("clicks", "few", "fewer", "calls"))]
    assert added == {
        *(f"User:streams  READ  TOPIC  {topic}" for topic in ("clicks", "few")),
        *(f"User:streams  WRITE  TOPIC  {topic}" for topic in written),
        *(f"User:serving  READ  TOPIC  {topic}" for topic in ("few", "fewer", "calls")),
        "User:sources  WRITE  TOPIC  clicks",
        *(f"User:batch  {what}  TOPIC  {topic}" for what in ("READ", "WRITE") for topic in ("clicks", "few")),  # replays
        *(f"User:batch  READ  TOPIC  {topic}.dead-letter" for topic in ("clicks", "few")),
    }


def test_jobs_may_rewrite_summaries():
    declared = [each for each in load_queries().values() if each.application == "metrics"]
    rules = {describe(rule) for rule in wanted([], declared)}
    written = {topic for topic in ("metrics.summaries", "metrics.rollups") if f"User:batch  WRITE  TOPIC  {topic}" in rules}
    assert written == {"metrics.summaries", "metrics.rollups"}
    assert {f"User:batch  READ  TOPIC  {topic}" for topic in ("metrics.late", "metrics.rollups.late")} <= rules


def test_transactions_are_allowed_where_a_query_is_delivered_exactly_once():
    once = {describe(rule) for rule in wanted([], [query("one", "clicks", "few", delivery="exactly-once")])}
    assert once - {describe(rule) for rule in wanted([], [query("one", "clicks", "few")])} == {
        "User:streams  READ  TOPIC  sundial.commits",
        "User:streams  WRITE  TOPIC  sundial.commits",
        "User:streams  WRITE  TRANSACTIONAL_ID  sundial.*",
    }


def test_alerts_are_kept_where_a_route_is_declared():
    target = {"kind": "slack", "url": "SUNDIAL_ALERT_X"}
    route = Route.model_validate({"name": "r", "description": "x", "target": target})
    added = {describe(rule) for rule in wanted([], [], [route])} - {describe(rule) for rule in wanted([], [])}
    topics = ("sundial.alerts", "sundial.alerts.dead-letter")
    assert added == {
        *(f"User:serving  {what}  TOPIC  {topic}" for what in ("READ", "WRITE") for topic in topics),
        "User:serving  WRITE  TRANSACTIONAL_ID  sundial-alerts*",
    }
