"""Ten wrong tokens within a minute are too many, for the address that they came from."""

from serving.access.attempts import ADDRESSES, Attempts


def test_an_address_waits_until_its_tenth_last_try_is_a_minute_ago():
    now = [0.0]
    attempts = Attempts(lambda: now[0])
    for _ in range(10):
        assert attempts.wait("a") == 0
        attempts.failed("a")
        now[0] += 1
    assert (attempts.wait("a"), attempts.wait("b")) == (50.0, 0.0)
    now[0] = 60.0
    assert attempts.wait("a") == 0
    attempts.failed("a")
    assert attempts.wait("a") == 1.0


def test_it_remembers_so_many_addresses_and_no_more():
    attempts = Attempts(lambda: 0.0)
    for number in range(ADDRESSES + 5):
        attempts.failed(str(number))
    assert len(attempts._failed) == ADDRESSES
    assert "0" not in attempts._failed
