"""A Java that Sundial cannot use is refused with the reason."""

import pytest

from stack.errors import StackError
from stack.install import java

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
