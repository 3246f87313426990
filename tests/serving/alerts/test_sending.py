"""Where messages may go, that a redirect leads nowhere, and that a signature is that of the standard."""

import socket

import pytest

from contracts.alerts import Target
from serving.alerts import addresses, sending, signature
from serving.alerts.messages import Message
from tests.serving.alerts.conftest import KEY, SECRET, URL, WEBHOOK

INCIDENT = {
    "Id": "a@x",
    "ServiceName": "a",
    "Kind": "deviation",
    "State": "opened",
    "Start": "2026-11-23T12:00:00.000Z",
    "At": "2026-11-23T12:00:00.000Z",
    "End": None,
    "Peak": None,
    "PeakExpected": None,
}
MESSAGE = Message("on-call", "target", "opened", "error", "f", INCIDENT | {"Score": 2.5, "Cause": "why"}, 1_795_435_200_000)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "fe80::1",
        "0.0.0.0",
        "224.0.0.1",
        "168.63.129.16",
    ],
)
def test_some_addresses_are_never_allowed(address):
    assert all("never allowed" in addresses.refused(address, network) for network in ("public", "private")), address
    assert addresses.refused(address, "loopback")


def test_private_addresses_and_this_machine_are_allowed_where_the_target_says_so():
    found = {
        each: [network for network in ("public", "private", "loopback") if addresses.refused(each, network) is None]
        for each in ("8.8.8.8", "2606:4700::1", "10.1.2.3", "fd12::1", "127.0.0.1", "::1", "::ffff:127.0.0.1", "2002:7f00:1::")
    }
    public, private, loopback = ["public", "private"], ["private"], ["loopback"]
    assert list(found.values()) == [public, public, private, private, loopback, loopback, loopback, loopback]


def test_the_connection_goes_to_the_address_that_was_checked(receiver, monkeypatch):
    """The name means another address at the second look: nobody looks a second time."""
    looks = []

    def rebinding(host, port, *_, **__):
        if host != "hook.test":
            return REAL(host, port, *_, **__)
        looks.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1" if len(looks) == 1 else "169.254.169.254", port))]

    monkeypatch.setattr(
        addresses.socket,
        "getaddrinfo",
        lambda host, *rest, **more: rebinding(host, *rest, **more) if host == "hook.test" else REAL(host, *rest, **more),
    )
    env = {URL: f"http://hook.test:{receiver.port}/x", KEY: SECRET}
    assert sending.attempt(MESSAGE, Target(**WEBHOOK), env, "").what == "taken"
    assert (looks, receiver.came[0].headers["host"]) == (["hook.test"], f"hook.test:{receiver.port}")


REAL = socket.getaddrinfo


def test_redirects_and_plain_text_are_refused_and_no_secret_is_shown(receiver):
    env = {URL: receiver.url, KEY: SECRET}
    receiver.answers = [(302, {"location": "http://169.254.169.254/"}, b"to /hook/s3cret-token")]
    found = sending.attempt(MESSAGE, Target(**WEBHOOK), env, "")
    assert (found.what, found.reason, receiver.came) == ("refused", "HTTP 302 to …", [])
    found = sending.attempt(MESSAGE, Target(**WEBHOOK | {"network": "public"}), env, "")
    assert (found.what, found.reason.partition(",")[0]) == ("again", f"{URL} begins with http://")
    receiver.answers = [(429, {"retry-after": "7"}, b"")]
    assert sending.attempt(MESSAGE, Target(**WEBHOOK), env, "") == sending.Outcome("again", "HTTP 429", 7.0)


def test_without_the_right_variables_nothing_is_sent_for_now(receiver):
    found = sending.attempt(MESSAGE, Target(**WEBHOOK), {}, "")
    assert found == sending.Outcome("again", f"the environment variables {URL} and {KEY} are not set")
    found = sending.attempt(MESSAGE, Target(**WEBHOOK), {URL: "s3cret-token", KEY: "s3cret-token"}, "")
    assert (found.what, found.reason.count(" is no "), "s3cret" in found.reason) == ("again", 2, False)
    assert receiver.came == []


def test_the_signature_is_what_the_standard_says(receiver):
    assert sending.attempt(MESSAGE, Target(**WEBHOOK), {URL: receiver.url, KEY: SECRET}, "http://page").what == "taken"
    [came] = receiver.came
    assert came.headers["webhook-signature"] == came.signature(SECRET)
    assert came.id == came.headers["webhook-id"] == MESSAGE.id
    assert came.json == {
        "id": MESSAGE.id, "event": "opened", "test": False, "route": "on-call", "severity": "error", "feed": "f",
        "text": "[error] f: a, unusual\nwhy\nsince 2026-11-23T12:00:00.000Z", "at": "2026-11-23T12:00:00.000Z",
        "link": "http://page/?feed=f&service=a", "incident": MESSAGE.incident,
    }  # fmt: skip
    for text in ("", "short", "no base64!" * 5):
        with pytest.raises(signature.BadKey):
            signature.key_of(text)


def test_the_standards_own_example():
    found = signature.headers(signature.key_of(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
