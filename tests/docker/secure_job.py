"""A Spark job on a Kafka that asks for passwords: writes as one user, reads as another, and tells all that Spark shows of it.

Prints the records, the query's plan, and what Spark's own pages say of queries and settings; logs are on stderr, at INFO.
"""

import json
import os
import sys
import urllib.request

from contracts.feeds import load_feed
from contracts.kafka_credentials import KafkaCredentials
from jobs.backends import kafka, spark
from jobs.backends.settings import Platform


def as_user(user: str) -> Platform:
    """The platform as seen by a user whose password is in KAFKA_<USER>_PASSWORD."""
    own = {"SUNDIAL_KAFKA_USER": user, "SUNDIAL_KAFKA_PASSWORD": os.environ[f"KAFKA_{user.upper()}_PASSWORD"]}
    platform = Platform.from_environment()
    return Platform(
        platform.kafka,
        platform.registry,
        platform.lake,
        platform.streams,
        platform.jars,
        KafkaCredentials.from_environment({**os.environ, **own}),
    )


def main() -> None:
    feed = load_feed("service-use")
    session = spark.session("secure", as_user("batch"), **{"spark.ui.port": "0", "spark.driver.memory": "512m"})
    session.sparkContext.setLogLevel("INFO")
    rows = session.createDataFrame([("web", "a reading")], "key string, value string")
    written = rows.write.format("kafka").options(**kafka.producer_options(as_user("streams")))
    written.option("topic", feed.scored_topic).save()
    batch = as_user("batch")
    ranges = kafka.available(batch, feed.topic)
    read = kafka.read_ranges(session, batch, feed.topic, ranges)
    print(batch, [bytes(row.key).decode() for row in read.select("key").collect()])
    print(read._jdf.queryExecution().toString())
    pages = f"{session.sparkContext.uiWebUrl}/api/v1/applications/{session.sparkContext.applicationId}"
    for page in ("sql?details=true&planDescription=true", "environment", "jobs", "stages"):
        with urllib.request.urlopen(f"{pages}/{page}") as answer:
            print(json.load(answer))
    try:
        written = rows.write.format("kafka").options(**kafka.producer_options(batch))
        written.option("topic", feed.scored_topic).save()
    except Exception as refused:  # whatever Spark makes of it; only the words count
        print("refused:", "TopicAuthorizationException" in str(refused), refused)
    session.stop()


if __name__ == "__main__":
    sys.exit(main())
