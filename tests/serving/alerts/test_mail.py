"""E-mail by a real mail server: in plain text to this machine only, by STARTTLS, by TLS; and what a refusal leads to."""

import socket

import pytest

from contracts.alerts import Target
from serving.alerts import addresses, sending
from serving.alerts.outbox import Limits, Waiting, after
from tests.serving.alerts.mail_server import receiving_mail
from tests.serving.alerts.test_sending import MESSAGE

URL = "SUNDIAL_ALERT_MAIL"
A, B, C = "a@there.test", "b@there.test", "c@there.test"
TARGET = Target(kind="email", url=URL, sender="sundial@here.test", to=(A, B), network="loopback")


def attempt(server, scheme: str = "smtp", target: Target = TARGET, host: str = "localhost") -> sending.Outcome:
    return sending.attempt(MESSAGE, target, {URL: f"{scheme}://{host}:{server.port}"}, "")


REAL = socket.getaddrinfo


@pytest.fixture
def named(monkeypatch):
    """named(*addresses): those of `localhost`."""

    def name(*found: str) -> None:
        def look(host, port, *rest, **more):
            return [(2, 1, 6, "", (each, port)) for each in found] if host == "localhost" else REAL(host, port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", look)

    return name


@pytest.fixture
def at_loopback(named):
    """`localhost` has the address of the server only."""
    named("127.0.0.1")


@pytest.mark.parametrize(
    ("tls", "scheme", "secured"), [("none", "smtp", False), ("starttls", "smtp", True), ("at once", "smtps", True)]
)
def test_a_letter_arrives_as_safely_as_the_server_allows(tmp_path, monkeypatch, at_loopback, tls, scheme, secured):
    with receiving_mail(tmp_path, tls) as server:
        if tls == "at once":
            assert attempt(server, scheme).what == "again", "nobody has signed the certificate"
            monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        assert attempt(server, scheme) == sending.Outcome("taken", "SMTP: taken")
        [(to, text)] = server.letters
    assert (to, server.secured) == ([A, B], [secured])
    assert f"Message-ID: <{MESSAGE.id}@here.test>" in text
    assert "Subject: [error] f: a, unusual" in text


def test_a_letter_to_another_machine_needs_starttls(tmp_path, monkeypatch, at_loopback):
    monkeypatch.setattr(addresses, "refused", lambda *_: None)
    target = TARGET.model_copy(update={"network": "private"})
    with receiving_mail(tmp_path, "none") as server:
        found = attempt(server, target=target)
        assert (found.what, server.letters) == ("refused", [])
        assert "STARTTLS" in found.reason
    with receiving_mail(tmp_path, "starttls") as server:
        assert (attempt(server, target=target).what, server.letters) == ("again", []), "nobody has signed the certificate"
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        assert (attempt(server, target=target).what, server.secured) == ("taken", [True])


def test_each_address_is_tried_until_one_takes_the_connection(tmp_path, named):
    named("127.0.0.2", "127.0.0.1")  # nobody listens at the first
    with receiving_mail(tmp_path, "none") as server:
        assert attempt(server).what == "taken"


@pytest.mark.parametrize(
    ("answers", "what", "left", "got"),
    [
        ({A: 450, B: 451}, "again", (A, B), None),
        ({A: 550, B: 553}, "refused", (), None),
        ({A: 450}, "again", (A,), [B]),
        ({A: 550}, "taken", (), [B]),
        ({A: 450, B: 550}, "again", (A,), None),
    ],
)
def test_recipients_that_are_refused(tmp_path, at_loopback, answers, what, left, got):
    with receiving_mail(tmp_path, "none") as server:
        server.recipients = answers
        found = attempt(server)
        assert (found.what, found.left, [to for to, _ in server.letters]) == (what, left, [got] if got else [])
        assert all(f"{name} ({code})" in found.reason for name, code in answers.items())


def test_who_has_a_letter_does_not_get_it_again(tmp_path, at_loopback):
    waiting = Waiting(MESSAGE, 1)
    with receiving_mail(tmp_path, "none") as server:
        server.recipients = {B: 452}
        again = after(waiting, attempt(server, target=waiting.at(TARGET)), 1000, Limits())
        again = Waiting.from_json(again.as_json())
        server.recipients = {}
        assert attempt(server, target=again.at(TARGET)).what == "taken"
        assert [to for to, _ in server.letters] == [[A], [B]]
    assert again.at(TARGET.model_copy(update={"to": (C,)})).to == (C,), "the declaration has changed"


@pytest.mark.parametrize(("code", "what"), [(421, "again"), (451, "again"), (552, "refused"), (554, "refused")])
def test_a_letter_that_is_refused(tmp_path, at_loopback, code, what):
    with receiving_mail(tmp_path, "none") as server:
        server.end = code
        found = attempt(server)
        assert (found.what, found.reason[:8], server.letters) == (what, f"SMTP {code}", [])
    with receiving_mail(tmp_path, "none") as server:
        server.greeting = code
        assert (attempt(server).what, server.letters) == (what, [])
