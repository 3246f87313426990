"""A wrong machine is told what is wrong; jars are those that were locked; what is there is not fetched again."""

import tarfile
from collections import namedtuple

import pytest

from stack import bootstrap, jars, java
from stack.errors import StackError
from stack.home import CLASSES

MODULES = "java.base@17\njdk.incubator.vector@17\n"


def fake_java(folder, version: str, modules: str = MODULES, code: int = 0):
    """A java that reports a version and modules; its home."""
    binary = folder / "bin/java"
    binary.parent.mkdir(parents=True)
    settings = f"    java.home = {folder}\n    java.specification.version = {version}\n"
    binary.write_text(
        f"#!/bin/sh\nif [ $1 = --list-modules ]; then printf '{modules}'; else printf '{settings}' >&2; fi\nexit {code}\n"
    )
    binary.chmod(0o755)
    return folder


def test_a_suitable_java_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "17")))
    assert java.check() == tmp_path


@pytest.mark.parametrize("version", ["11", "1.8"])
def test_an_old_java_is_refused(tmp_path, monkeypatch, version):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(StackError, match=f"is Java {version}; Sundial needs 17 or later") as failure:
        java.check()
    assert "openjdk-17" in failure.value.remedy


def test_a_trimmed_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "21", modules="java.base@21\n")))
    with pytest.raises(StackError, match=r"trimmed Java 21 without the module jdk\.incubator\.vector"):
        java.check()


def test_a_java_that_does_not_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "17", code=1)))
    with pytest.raises(StackError, match="does not run"):
        java.check()


def test_no_java_at_all_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackError, match="no Java found"):
        java.check()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(StackError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"):
        java.check()


def test_another_python_is_refused(monkeypatch):
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 13, 1, "final", 0))
    with pytest.raises(StackError, match=r"this is Python 3\.13\.1; Sundial needs 3\.11"):
        bootstrap.check_machine()


def test_a_full_disk_is_told_before_anything_is_fetched(monkeypatch):
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda _: Usage(10, 9, 1_500_000_000))
    with pytest.raises(StackError, match=r"has 1\.5 GB free; 4 GB are needed"):
        bootstrap.check_machine()


def test_nothing_is_done_where_the_stamps_match(monkeypatch, capsys):
    for name in ("check_machine", "install_packages", "fetch_jars"):
        monkeypatch.setattr(bootstrap, name, lambda *_, name=name: pytest.fail(f"{name} was called"))
    monkeypatch.setattr(bootstrap, "fresh", lambda folder, names: True)
    bootstrap.setup(relock=False)
    assert capsys.readouterr().out == ""


def test_a_stamp_holds_until_an_input_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    (tmp_path / "input").write_text("one")
    assert not bootstrap.fresh(tmp_path, ("input",))
    (tmp_path / ".made-from").write_text(bootstrap.fingerprint(("input",)))
    assert bootstrap.fresh(tmp_path, ("input",))
    (tmp_path / "input").write_text("two")
    assert not bootstrap.fresh(tmp_path, ("input",))


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
    asked = []

    def resolve(root, venv, target, say, configurations):
        asked.append(tuple(configurations))
        for name in configurations:
            (target / name).mkdir(parents=True)
            (target / name / "c-3.jar").write_text(name)

    monkeypatch.setattr(jars, "resolve", resolve)
    (folder / "kafka-streams").mkdir()
    (folder / "kafka-streams/c-3.jar").write_text("kafka-streams")
    jars.write_lock(folder, lock)
    assert jars.fetch_peer(tmp_path, tmp_path, folder, "kafka-streams", print) == folder / "kafka-streams"
    assert asked == []
    (folder / "kafka-streams/c-3.jar").write_text("half")
    jars.verify(folder, lock)
    jars.fetch_peer(tmp_path, tmp_path, folder, "kafka-streams", print)
    assert asked == [("kafka-streams",)]
    assert (folder / "kafka-streams/c-3.jar").read_text() == "kafka-streams"
    assert sorted(file.name for file in folder.iterdir()) == ["kafka", "kafka-streams", "spark"]
    with pytest.raises(StackError, match="not those that were locked"):
        jars.fetch(tmp_path, tmp_path, folder, print)
    assert asked[1] == ("spark", "kafka", "connect", "registry")


def test_setup_has_archived_sparks_classes():
    assert (CLASSES / "spark.jsa").exists(), (CLASSES / "class-archive.log").read_text()[-2000:]


def test_the_registry_is_unpacked_over_a_half_unpacked_one(tmp_path):
    (tmp_path / "registry").mkdir()
    (tmp_path / "content").write_text("whole")
    with tarfile.open(tmp_path / "registry/app-1.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "content", "content")
    (tmp_path / "registry/.app-1").mkdir()
    jars.unpack(tmp_path)
    assert (tmp_path / "registry/app-1/content").read_text() == "whole"
    assert not (tmp_path / "registry/.app-1").exists()
