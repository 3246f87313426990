"""Declarations that change under a running process: what is new is taken up, what is wrong changes nothing."""

import datetime as dt

import pytest

from contracts.declarations import DeclarationError
from contracts.feeds import load_feeds
from serving import declared_feeds
from serving.declared_feeds import DeclaredFeeds
from tests.serving.conftest import declare


@pytest.fixture
def feeds(declared) -> DeclaredFeeds:
    return DeclaredFeeds(declared)


def test_a_file_that_comes_changes_or_goes_is_seen(feeds, feed):
    other = feed.model_copy(update={"name": "other"})
    declare(feeds.folder, other)
    assert feeds.look() == feeds.feeds == {feed.name: feed, "other": other}
    changed = other.model_copy(update={"description": "changed"})
    declare(feeds.folder, changed)
    assert feeds.look() == {feed.name: feed, "other": changed}
    (feeds.folder / f"{feed.name}.yaml").unlink()
    assert feeds.look() == {"other": changed}


def test_the_calendar_beside_it_is_seen(feeds, feed):
    calendar = feeds.folder.parent / "calendar"
    calendar.mkdir()
    text = f"name: sale\ndescription: sale\nfeeds: [{feed.name}]\ndates: [2026-11-27]\n"
    (calendar / "sale.yaml").write_text(text + "like: sunday\n")
    assert feeds.look()[feed.name].calendar.day_type(dt.date(2026, 11, 27)) == 7
    (calendar / "sale.yaml").write_text(text + "like: friday\n")
    assert feeds.look()[feed.name].calendar.day_type(dt.date(2026, 11, 27)) == 7
    assert feeds.mistakes == ["sale.yaml: like: Input should be 'sunday', 'weekday' or 'itself'"]
    (calendar / "sale.yaml").unlink()
    assert feeds.look() == {feed.name: feed}


def test_files_that_do_not_change_are_read_once(feeds, feed, monkeypatch):
    read = []
    monkeypatch.setattr(declared_feeds, "load_feeds", lambda folder: read.append(folder) or load_feeds(folder))
    for _ in range(3):
        feeds.look()
    assert read == []
    declare(feeds.folder, feed.model_copy(update={"name": "other"}))
    for _ in range(3):
        feeds.look()
    assert read == [feeds.folder]


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (b"name: other\ninterval_seconds: ten", "other.yaml: interval_seconds: "),
        (b"name: [", "other.yaml: not YAML: "),
        (b"\xff\xfe\xfa", "other.yaml: not YAML: 'utf-8' codec can't decode byte"),
    ],
)
def test_a_mistake_is_said_and_the_feeds_stay_until_it_is_corrected(feeds, feed, content, mistake):
    declare(feeds.folder, third := feed.model_copy(update={"name": "third"}))
    (feeds.folder / "other.yaml").write_bytes(content)
    assert feeds.look() == {feed.name: feed}
    assert any(each.startswith(mistake) for each in feeds.mistakes), feeds.mistakes
    (feeds.folder / "other.yaml").unlink()
    assert feeds.look() == {feed.name: feed, "third": third}
    assert feeds.mistakes == []


def test_a_folder_that_is_gone_changes_nothing(feeds, feed):
    moved = feeds.folder.rename(feeds.folder.with_name("moved"))
    assert feeds.look() == {feed.name: feed}
    assert feeds.mistakes == [f"{feeds.folder}: no feed declared (*.yaml)"]
    moved.rename(feeds.folder)
    feeds.look()
    assert feeds.mistakes == []


def test_a_file_that_cannot_be_read_changes_nothing(feeds, feed):
    (feeds.folder / "gone.yaml").symlink_to("nowhere")
    assert feeds.look() == {feed.name: feed}
    assert "gone.yaml" in feeds.mistakes[0]


def test_a_contract_that_comes_after_its_feed_is_seen(feeds, feed, tmp_path, monkeypatch):
    monkeypatch.setattr("contracts.declarations.SCHEMAS", tmp_path)
    (tmp_path / "avro" / feed.record).mkdir(parents=True)
    declare(feeds.folder, other := feed.model_copy(update={"name": "other"}))
    assert feeds.look() == {feed.name: feed}
    assert any("no schemas/avro/service_use_record" in each for each in feeds.mistakes)
    (tmp_path / "avro" / feed.record / "v1.avsc").touch()
    assert feeds.look() == {feed.name: feed, "other": other}


def test_nothing_can_be_kept_of_declarations_that_are_wrong_at_the_start(tmp_path):
    (tmp_path / "wrong.yaml").write_text("name: wrong")
    with pytest.raises(DeclarationError, match=r"wrong\.yaml"):
        DeclaredFeeds(tmp_path)
