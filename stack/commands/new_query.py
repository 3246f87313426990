"""The skeleton of a stream query: its declaration, its function where it is not SQL, and its test. It works as it stands."""

import re
from pathlib import Path

from contracts import avro
from contracts.declarations import Topic
from stack.errors import StackError

DECLARATION = """\
# What it answers, in a line.
name: {name}
description: Rows of {topic} as they are
# application: …                # queries that name the same one share a driver; without it, `shared`
inputs:
  {alias}:
    topic: {topic}
    record: {record}
{encoding}{key}    # time: event                 # RowTime is then what `timestamp` gives, and not Kafka's own time
    # timestamp: …                # Spark SQL over the columns
    # lateness: 10 minutes        # of rows that still change a window or a join
{what}
outputs:
  # The key must be the same for a row that is computed again. Of rows with one key the topic keeps the last: name as many columns
  # as tell rows apart, as in concat_ws('|', A, B), or declare compacted: false.
  - {{topic: {name}, record: {record}, key: "cast({first} AS string)"}}
"""

SQL = "sql: |\n  SELECT * FROM {alias}"
FUNCTION = "transform: {function}"

TRANSFORM = '''\
"""What it answers, in a line."""

from pyspark.sql import DataFrame


def {function}(inputs: dict[str, DataFrame]) -> DataFrame:
    """The columns of the contract {record}."""
    return inputs["{alias}"]
'''

TEST = '''\
"""{name}: rows in, records out."""

from contracts.queries import load_queries
from tests.jobs.examples import example, written

QUERY = load_queries()["{name}"]


def test_each_row_becomes_a_record(spark):
    given = example("{record}")
    assert [(topic, value) for topic, _, value in written(spark, QUERY, {alias}=[given])] == [("{name}", given)]
'''


def skeleton(name: str, reads: str, declared: list[Topic], sql: bool) -> dict[str, str]:
    """Text by path below the repository. Raises StackError where the name or the topic can't be a query's."""
    known = {topic.name: topic for topic in declared}
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,62}", name) or name in known:
        raise StackError(f"{name!r} can't be a query's name", remedy="lower-case letters, digits and hyphens; no declared topic")
    if reads not in known or not known[reads].record:
        can = ", ".join(topic.name for topic in declared if topic.record)
        raise StackError(f"no declared topic with a contract: {reads!r}", remedy=f"one of: {can}")
    topic, alias, function = known[reads], re.sub(r"[^a-z0-9]", "_", reads), name.replace("-", "_")
    words = {
        "name": name,
        "function": function,
        "topic": topic.name,
        "alias": alias,
        "record": topic.record,
        "first": avro.latest(topic.record)["fields"][0]["name"],
        "encoding": "" if topic.encoding == "avro" else f"    encoding: {topic.encoding}\n",
        "key": f"    key: {{column: Key, record: {topic.key_record}}}\n" if topic.key_record else "",
        "what": (SQL if sql else FUNCTION).format(alias=alias, function=function),
    }
    files = {f"schemas/queries/{name}.yaml": DECLARATION, f"tests/transforms/test_{function}.py": TEST}
    if not sql:
        files[f"jobs/transforms/queries/{function}.py"] = TRANSFORM
    return {path: text.format(**words) for path, text in files.items()}


def write(root: Path, files: dict[str, str]) -> None:
    """Raises StackError, and writes nothing, if one of them is there."""
    there = [path for path in files if (root / path).exists()]
    if there:
        raise StackError(f"{', '.join(there)}: there already", remedy="take another name, or delete what is there")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
