"""Jars are those that were locked; a failed fetch leaves the ones that were there."""

import tarfile

import pytest

from stack.errors import StackError
from stack.install import jars


@pytest.fixture
def fetched(tmp_path):
    """A folder of jars and its lock."""
    folder = tmp_path / "jars"
    for name in ("spark/a-1.jar", "kafka/b-2.jar"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(name)
    lock = tmp_path / "ivy.sha256"
    jars.write_lock(folder, lock)
    return folder, lock


def test_jars_that_were_locked_pass(fetched):
    jars.verify(*fetched)
    assert fetched[1].read_text().splitlines()[1].endswith("  spark/a-1.jar")


def test_every_jar_that_differs_is_named_with_both_checksums(fetched):
    folder, lock = fetched
    locked = lock.read_text().splitlines()[1].split()[0]
    (folder / "spark/a-1.jar").write_text("tampered")
    (folder / "kafka/b-2.jar").unlink()
    (folder / "kafka/c-3.jar").write_text("surplus")
    with pytest.raises(StackError) as failure:
        jars.verify(folder, lock)
    message = str(failure.value)
    assert f"spark/a-1.jar: SHA-256 is {jars.digests(folder)['spark/a-1.jar']}, locked is {locked}" in message
    assert "kafka/b-2.jar: SHA-256 is none: missing" in message
    assert "kafka/c-3.jar" in message
    assert "locked is none: surplus" in message
    assert "make jars LOCK=1" in message


def test_what_ivy_could_not_fetch_is_named():
    report = [
        ":: resolving dependencies :: sundial#jars;working@here",
        "\t\t:: problems summary ::",
        "\t\t::          UNRESOLVED DEPENDENCIES         ::",
        "\t\t:: io.delta#delta-spark_4.2_2.13;4.4.0: not found",
        "\t\t:: org.apache.kafka#kafka_2.13;4.2.1: java.net.UnknownHostException",
        "\t\t:: io.delta#delta-storage;4.4.0!delta-storage.jar",
    ]
    assert jars.missing(report) == (
        "the jars could not be fetched: io.delta#delta-spark_4.2_2.13;4.4.0, org.apache.kafka#kafka_2.13;4.2.1,"
        " io.delta#delta-storage;4.4.0"
    )


def test_a_failed_fetch_leaves_the_jars_that_were_there(fetched, tmp_path, monkeypatch):
    folder, _ = fetched
    monkeypatch.setattr(jars, "resolve", lambda root, venv, target, *_: (target / "spark").mkdir(parents=True))
    with pytest.raises(StackError, match="not those that were locked"):
        jars.fetch(tmp_path, tmp_path, folder, print)
    assert (folder / "spark/a-1.jar").read_text() == "spark/a-1.jar"


def test_a_peer_is_fetched_when_it_is_not_there_as_locked_and_setup_leaves_it_out(fetched, tmp_path, monkeypatch):
    folder, lock = fetched
    resolved = []

    def resolve(root, venv, target, say, configurations):
        resolved.append(tuple(configurations))
        for name in configurations:
            (target / name).mkdir(parents=True)
            (target / name / "c-3.jar").write_text(name)

    monkeypatch.setattr(jars, "resolve", resolve)
    (folder / "kafka-streams").mkdir()
    (folder / "kafka-streams/c-3.jar").write_text("kafka-streams")
    jars.write_lock(folder, lock)
    assert jars.fetch_peer(tmp_path, tmp_path, folder, "kafka-streams", print) == folder / "kafka-streams"
    assert resolved == []
    (folder / "kafka-streams/c-3.jar").write_text("half")
    jars.verify(folder, lock)
    jars.fetch_peer(tmp_path, tmp_path, folder, "kafka-streams", print)
    assert resolved == [("kafka-streams",)]
    assert (folder / "kafka-streams/c-3.jar").read_text() == "kafka-streams"
    assert sorted(file.name for file in folder.iterdir()) == ["kafka", "kafka-streams", "spark"]
    with pytest.raises(StackError, match="not those that were locked"):
        jars.fetch(tmp_path, tmp_path, folder, print)
    assert resolved[1] == ("spark", "kafka", "connect", "registry")


def test_the_registry_is_unpacked_over_a_half_unpacked_one(tmp_path):
    (tmp_path / "registry").mkdir()
    (tmp_path / "content").write_text("whole")
    with tarfile.open(tmp_path / "registry/app-1.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "content", "content")
    (tmp_path / "registry/.app-1").mkdir()
    jars.unpack(tmp_path)
    assert (tmp_path / "registry/app-1/content").read_text() == "whole"
    assert not (tmp_path / "registry/.app-1").exists()
