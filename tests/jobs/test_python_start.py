"""How Python starts in Spark's processes."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import py4j
import pyspark
import pytest

from stack.instance import ROOT

WHERE = "import sys, pyspark, py4j; print(pyspark.__file__, py4j.__file__, sys.path)"


@pytest.fixture
def archives(tmp_path) -> list[str]:
    """Of pyspark and py4j, as Spark has them in front of the path, and its jar."""
    made = [tmp_path / name for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.2.0.jar")]
    for package, archive in zip(("pyspark", "py4j", "other"), made, strict=True):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(f"{package}/__init__.py", "")
    return list(map(str, made))


def test_what_is_installed_is_imported_and_not_sparks_archives(archives):
    path = os.pathsep.join([*archives, str(ROOT)])
    done = subprocess.run([sys.executable, "-c", WHERE], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{Path(pyspark.__file__)} {Path(py4j.__file__)} ")
    assert not any(archive in done.stdout for archive in archives)
    assert f"'{ROOT}'" in done.stdout
