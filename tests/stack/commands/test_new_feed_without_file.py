"""`sundial new feed` without a file: by options or by answers, and what does not go together is refused."""

import pytest
import yaml

from stack.commands import new, new_feed, new_feed_questions
from stack.errors import StackError
from stack.instance import Instance
from stack.parts import lifecycle, streams


def test_without_a_file_options_say_what_the_feed_is(repository, sundial):
    hostile = 'Logins: "all" #1 \\ – {x}\n- y'
    words = ("--interval", "1m", "--timezone", "Europe/Berlin", "--holidays", "DE", "--minimum", "50", "--description", hostile)
    ran = sundial("new", "feed", "logins", *words)
    assert (ran.code, ran.errors) == (0, "")
    assert yaml.safe_load((repository / "schemas/feeds/logins.yaml").read_text()) == {
        "name": "logins",
        "description": hostile,
        "record": "service_use_record",
        "interval_seconds": 60,
        "timezone": "Europe/Berlin",
        "holidays": {"country": "DE"},
        "partitions": 1,
        "retention_days": 45,
        "spread_window_seconds": 900,
        "rule": {"percent": 25, "spread": 6, "minimum": 50},
    }
    said = ran.output.splitlines()
    commands = [line.strip() for line in said if line.startswith("  sundial")]
    assert commands == ["sundial up", "sundial streams start logins", "sundial queries start incidents"]
    assert "Chart: http://127.0.0.1:18000/?feed=logins" in said
    assert sundial("check").code == 0
    (repository / "schemas/feeds/logins.yaml").unlink()


MISTAKES = {
    (): "--interval and --timezone: not given, and there is no file\nwhat to do: add --interval 1m --timezone",
    ("--interval", "1m"): "error: --timezone: not given, and there is no file",
    ("--interval", "1m", "--timezone", "UTC", "--value-column", "a"): "--value-column: there is no file",
    ("--from", "samples/nyc_taxi_vendors.csv", "--minimum", "5"): "--minimum: only without --from",
}


def test_what_does_not_go_together_is_said(repository, sundial_in_turn):
    ran = sundial_in_turn(*(("new", "feed", "logins", *words) for words in MISTAKES))
    assert [(each.code, says in each.errors) for each, says in zip(ran, MISTAKES.values(), strict=True)] == [
        (1, True) for _ in MISTAKES
    ], [each.errors for each in ran]
    assert not (repository / "schemas/feeds/logins.yaml").exists()


def test_without_a_file_a_terminal_is_asked(monkeypatch):
    asked = []
    answers = {"Time that": "5m", "Time zone": "Europe/Berlin", "Public": "DE-BY", "Smallest": 7, "What": "Logins"}

    def prompt(text: str, **_):
        asked.append(text)
        return next(answer for begin, answer in answers.items() if text.startswith(begin))

    monkeypatch.setattr(new_feed_questions.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(new_feed_questions.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(new_feed_questions.typer, "prompt", prompt)
    said = new_feed_questions.said("logins", None, None, None, None, None)
    assert said == new_feed.Said("logins", 300, "Europe/Berlin", "DE-BY", 7, "Logins")
    assert len(asked) == 5
    assert new_feed_questions.said("logins", 60, "UTC", None, None, None) == new_feed.Said("logins", 60, "UTC", None, 1)
    assert len(asked) == 5, "with both, nothing is asked"
    answers["Time zone"] = "Mars"
    with pytest.raises(StackError, match="--timezone Mars: no such time zone"):
        new_feed_questions.said("logins", 60, None, None, None, None)


def test_start_without_a_file_loads_nothing(monkeypatch, tmp_path, capsys):
    did = []
    monkeypatch.setattr(lifecycle, "up", lambda instance, say: did.append("up"))
    for name in ("switch_on", "await_running", "start"):
        monkeypatch.setattr(streams, name, lambda instance, stream, say, name=name: did.append((name, stream.of)))
    instance = Instance(tmp_path / "home").make(base=0)
    new._start(instance, "road-traffic", None, "sundial")
    assert did == ["up", ("switch_on", "road-traffic"), ("await_running", "road-traffic"), ("start", "incidents")]
    assert f"Chart: {instance.api}/?feed=road-traffic\n" in capsys.readouterr().out
