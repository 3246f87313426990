"""Ten times within a minute are too many, for who did it."""

from serving.access.rate_limit import REMEMBERED, RateLimit


def test_one_waits_until_the_tenth_last_time_is_a_minute_ago():
    now = [0.0]
    limit = RateLimit(10, 60.0, lambda: now[0])
    for _ in range(10):
        assert limit.wait("a") == 0
        limit.count("a")
        now[0] += 1
    assert (limit.wait("a"), limit.wait("b")) == (50.0, 0.0)
    now[0] = 60.0
    assert limit.wait("a") == 0
    limit.count("a")
    assert limit.wait("a") == 1.0


def test_it_remembers_so_many_and_no_more():
    limit = RateLimit(1, 60.0, lambda: 0.0)
    for number in range(REMEMBERED + 5):
        limit.count(str(number))
    assert (limit.wait("4"), limit.wait("5")) == (0.0, 60.0)
