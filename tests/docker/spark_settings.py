"""The settings for Kubernetes and YARN, and what is known of them: Spark's own jars."""

import re
import sys
import zipfile
from pathlib import Path

from tests.docker.compose import ROOT
from tests.docker.manifests import FOLDER, of_kind

CONFS = {"kubernetes": FOLDER / "spark/spark-defaults.conf", "yarn": ROOT / "docker/yarn/spark-defaults.conf"}
JARS = Path(sys.prefix) / "lib/python3.11/site-packages/pyspark/jars"


def settings(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split(None, 1) for line in lines]
    assert len({key for key, _ in pairs}) == len(pairs), "a key stands there twice"
    return {key: value.strip() for key, value in pairs}


def constants(jar: str, wanted: re.Pattern) -> set[bytes]:
    """Every text that stands in those classes of a jar of Spark's, each with its length before it."""
    (file,) = JARS.glob(f"{jar}_2.13-*.jar")
    with zipfile.ZipFile(file) as archive:
        return {archive.read(name) for name in archive.namelist() if wanted.fullmatch(name)}


def stands_in(text: str, classes: set[bytes]) -> bool:
    entry = b"\x01" + len(text).to_bytes(2, "big") + text.encode()  # a constant of a class file: kind, length, bytes
    return any(entry in each for each in classes)


def kubernetes_connection() -> str:
    return of_kind("ConfigMap")["airflow"]["data"]["AIRFLOW_CONN_SPARK_DEFAULT"]
