"""`skip_lost` is killed at each of its steps on disk: the checkpoint can be read then, and the next run makes it whole."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from contracts.queries import Query
from jobs import skip_lost
from jobs.backends.kafka import Range
from jobs.backends.topics import Topic
from jobs.streams import topics_read
from jobs.streams.checkpoint import Checkpoint
from jobs.streams.topics_read import KeptByQuery, TopicsRead
from supervision.files import StreamFolder

NOW = {"t": Topic("t", "new", {0: Range(30, 40)}), "u": Topic("u", "same", {0: Range(25, 40)})}
IDS = {"t": "old", "u": "same"}


class Killed(BaseException):
    """The process is no more."""


@pytest.fixture(autouse=True)
def _broker(monkeypatch):
    """Topic t was deleted and made anew; records of u have expired."""
    monkeypatch.setattr(topics_read, "topic_now", lambda _, name: NOW[name])
    monkeypatch.setattr(topics_read, "Topics", lambda *_: None)


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Whether the work came to its step of that number, at which it ends; of a file that is being written, half is there."""
    done = itertools.count(1)

    def before(real):
        def one(*arguments, **options):
            if next(done) == step:
                raise Killed
            return real(*arguments, **options)

        return one

    def half(file: Path, text: str) -> None:
        last = next(done) == step
        file.write_bytes((text[: len(text) // 2] if last else text).encode())
        if last:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        for name in ("unlink", "rmdir", "replace", "rename"):
            patch.setattr(os, name, before(getattr(os, name)))
        patch.setattr(Path, "write_text", half)
        try:
            work()
        except Killed:
            return True
    return False


def committed(folder: Path) -> None:
    """Two batches are committed, and two more were planned."""
    for batch in range(4):
        of_sources = [f'{{"t":{{"0":{batch}}}}}', "-", f'{{"u":{{"0":{batch}}}}}']
        (folder / "offsets" / str(batch)).write_text("\n".join(["v1", "{}", *of_sources]))
    for batch in range(2):
        (folder / "commits" / str(batch)).write_text("v1\n{}")


def begun(folder: Path) -> None:
    """Nothing is committed, and a batch was planned."""
    (folder / "offsets" / "0").write_text('v1\n{}\n{"t":{"0":9}}\n{"u":{"0":9}}')
    for number, topic in enumerate(NOW):
        (folder / "sources" / str(number)).mkdir(parents=True)
        (folder / "sources" / str(number) / "0").write_bytes(b'\0v1\n{"%s":{"0":7}}' % topic.encode())


def made(folder: Path, laid_out: Callable[[Path], None]) -> Checkpoint:
    for kind in ("offsets", "commits", "state"):
        (folder / kind).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"6a0c"}')
    laid_out(folder)
    Checkpoint(folder).note_topic_ids(IDS)
    return Checkpoint(folder)


def content(folder: Path) -> dict[str, bytes]:
    """Of its files, but for those that a kill has left unfinished: nobody reads them, and the next write replaces them."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".new"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("laid_out", [committed, begun])
def test_a_checkpoint_is_never_in_between_and_the_next_run_ends_what_was_begun(tmp_path, laid_out):
    def read(checkpoint: Checkpoint) -> TopicsRead:
        return TopicsRead(None, NOW, KeptByQuery(checkpoint), "")

    undisturbed = made(tmp_path / "undisturbed", laid_out)
    assert len(read(undisturbed).skip_lost()) == 2
    assert undisturbed.reached() == {"t": {0: 30}, "u": {0: 25}}
    for step in itertools.count(1):
        checkpoint = made(tmp_path / str(step), laid_out)
        if not killed_at(step, read(checkpoint).skip_lost):
            break
        assert (checkpoint.reached() or {}).keys() == {"t", "u"}, f"step {step}"
        read(checkpoint).skip_lost()
        assert content(checkpoint.folder) == content(undisturbed.folder), f"step {step}"
        assert read(checkpoint).lost() == []
    assert step > 8


def test_the_state_of_a_query_of_tables_alone_goes_whichever_step_a_kill_hits(tmp_path, monkeypatch):
    zones = {"topic": "t", "as": "table", "record": "taxi_zone", "key": {"column": "ZoneKey"}}
    outputs = [{"topic": "o", "record": "taxi_zone", "key": "ZoneKey"}]
    query = Query(name="q", description="x", inputs={"zones": zones}, sql="SELECT 1", mode="update", outputs=outputs)
    monkeypatch.setattr(skip_lost, "load_application", lambda *_: {"q": query})
    for step in itertools.count(1):
        folder = StreamFolder(tmp_path / str(step))
        checkpoint = made(folder.checkpoint / "q", committed)
        before = content(checkpoint.folder)

        def run(folder=folder) -> list:
            return list(skip_lost._of_application(None, folder, SimpleNamespace(application="a", queries=None)))

        if not killed_at(step, run):
            break
        assert content(checkpoint.folder) in (before, {}), f"step {step}"
        run()
        assert not checkpoint.folder.exists(), f"step {step}"
        checkpoint.clear_unplanned()
        assert list(folder.checkpoint.iterdir()) == [], f"step {step}"
    assert step > 8
