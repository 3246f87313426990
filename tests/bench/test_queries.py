"""The declared queries that the streams benchmark measures do the work that its peer does."""

import datetime as dt

from bench.metrics import JOBS
from bench.sundial_queries import QUERIES
from contracts.queries import load_queries
from tests.jobs.examples import written

AT = dt.datetime(2020, 7, 1, 12, 0, 30, tzinfo=dt.UTC)


def event(seconds: float, value: float) -> dict:
    return {"Id": None, "Timestamp": AT + dt.timedelta(seconds=seconds), "Value": value}


def test_each_job_has_its_query_on_the_same_topics():
    queries = {query.application: query for query in load_queries(QUERIES).values()}
    for name, job in JOBS.items():
        assert {each.topic for each in queries[name].inputs.values()} == set(job.inputs)
        assert queries[name].outputs[0].topic == job.output


def test_minutes_are_counted_and_summed(spark):
    found = written(spark, load_queries(QUERIES)["metric-minutes"], metrics=[event(0, 1.5), event(29, 2.0), event(30, 8.0)])
    minutes = {value["WindowStart"].minute: (value["Count"], value["Sum"]) for _, _, value in found}
    assert minutes == {0: (2, 3.5), 1: (1, 8.0)}


def test_a_response_within_a_minute_answers_its_request(spark):
    query = load_queries(QUERIES)["answered-requests"]
    answers = [event(5, 20.0), event(60.001, 30.0), event(-60.001, 40.0)]
    [(topic, key, value)] = written(spark, query, requests=[event(0, 10.0)], responses=answers)
    assert (topic, key) == ("requests.answered", "key")
    assert value == {"Request": "key", "Waited": 5000, "Left": 10.0, "Right": 20.0}
