"""The feeds that a query reads as one source, as far as it needs no broker."""

import pytest

from contracts.feeds import load_feed
from contracts.incident_queries import declared_query
from contracts.queries import Query
from jobs.errors import JobError
from jobs.streams import feeds_read
from jobs.streams.checkpoint import Begun, Checkpoint

QUERY = Query.model_validate(declared_query([load_feed("service-use"), load_feed("road-traffic")]))


def test_a_checkpoint_with_a_source_for_each_feed_is_refused(lake_platform, tmp_path):
    (tmp_path / "metadata").write_text('{"id":"6a0c"}')
    with pytest.raises(JobError, match=r"^the checkpoint .* read each feed as a source of its own: delete it, "):
        feeds_read.begin(lake_platform, QUERY, Checkpoint(tmp_path))


def test_of_a_query_only_the_feeds_count_that_it_has_begun_to_read(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.note_begun(Begun({"road-traffic": "how", "gone": "how"}))
    found = feeds_read.begun(QUERY, checkpoint)
    assert [each.topic for each in found.inputs.values()] == ["road-traffic"]
    assert [each.topic for each in found.outputs] == ["road-traffic.incidents"]
    assert found.parameters["feeds"].keys() == {"road_traffic"}
