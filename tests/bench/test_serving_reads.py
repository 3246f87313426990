"""The benchmark of serving asks for windows that serving has not answered before, so that it measures reads."""

import datetime as dt
from urllib.parse import parse_qs, urlsplit

from bench.history import LAST, Fleet
from bench.serving.reads import Windows
from contracts.feeds import load_feed
from stack.instance import Instance


def test_each_request_is_for_another_window_of_the_same_length_within_history(tmp_path):
    fleet = Fleet(Instance(tmp_path), load_feed("service-use"), services=3, days=35)
    paths = Windows(fleet, dt.timedelta(hours=1), width=700).paths(0, 3000)
    assert len(set(paths)) == 3000
    assert [urlsplit(path).path.split("/")[-2] for path in paths[:4]] == [*fleet.names, fleet.names[0]]
    for path in (paths[0], paths[-1]):
        query = {name: value for name, [value] in parse_qs(urlsplit(path).query).items()}
        first, last = (dt.datetime.fromisoformat(query[name]) for name in ("from", "to"))
        assert (last - first, query["width"]) == (dt.timedelta(hours=1), "700")
        assert LAST - dt.timedelta(days=1) <= first.date() <= last.date() <= LAST
