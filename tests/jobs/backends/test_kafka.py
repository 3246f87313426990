"""A topic that is missing, or a broker that does not answer, is named."""

from dataclasses import replace

import pytest

from jobs.backends import kafka
from jobs.errors import JobError


def test_a_topic_that_does_not_exist_is_named(broker, lake_platform):
    with pytest.raises(JobError, match=r"topic nowhere: .*`sundial up` creates"):
        kafka.available(replace(lake_platform, kafka=broker.kafka), "nowhere")


def test_a_broker_that_does_not_answer_is_named(lake_platform, monkeypatch):
    monkeypatch.setattr(kafka, "PATIENCE", 0.5)
    with pytest.raises(JobError, match=r"Kafka at 127\.0\.0\.1:1 does not say how far calls go: "):
        kafka.Ends(lake_platform, ["calls"]).now()
