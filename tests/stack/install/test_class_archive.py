"""The archive of Spark's classes."""

from stack.instance import CLASSES


def test_setup_has_archived_sparks_classes():
    assert (CLASSES / "spark.jsa").exists(), (CLASSES / "class-archive.log").read_text()[-2000:]
