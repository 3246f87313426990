"""The scoring job's own transform in micro-batch mode: what real-time mode is measured against. Runs until it is killed."""

from jobs.backends import kafka, settings, spark
from jobs.backends.settings import Platform
from jobs.streams import score_query
from jobs.streams.driver import now
from jobs.streams.known_writers import KnownWriters
from supervision.files import StreamFolder


def main(platform: Platform) -> None:
    feed = settings.parser(__doc__).parse_args().feed
    session = spark.session("microbatch", platform)
    known = KnownWriters(session, platform, StreamFolder.of(platform.streams, feed.name, "microbatch"))
    queries = score_query.Queries(session, platform, feed, known)
    plan = queries.first_plan()
    records = kafka.read_stream(session, platform, feed.topic, begin="latest")
    results = score_query.outputs(records, queries.baseline(plan), feed, plan)
    print(f"query started at {now()}", flush=True)
    query = (
        results.writeStream.format("kafka")
        .options(**kafka.producer_options(platform))
        .option("checkpointLocation", f"{platform.streams}/{feed.name}.microbatch")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    settings.run(main)
