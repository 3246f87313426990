"""The Java that everything runs on: 17 or later, with the vector module that Spark 4.2 loads at start. Standard library only."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from stack.errors import StackError

OLDEST = 17
VECTOR = "jdk.incubator.vector"
REMEDY = "install a full JDK or JRE 17 or later (Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME to one"


def binary() -> Path:
    """The `java` that would run: JAVA_HOME's, else the PATH's. Raises StackError where there is none."""
    if home := os.environ.get("JAVA_HOME"):
        if not (Path(home) / "bin/java").exists():
            raise StackError(f"JAVA_HOME is {home}, which has no bin/java", remedy=REMEDY)
        return Path(home) / "bin/java"
    if not (found := shutil.which("java")):
        raise StackError("no Java found: neither JAVA_HOME is set nor is java on the PATH", remedy=REMEDY)
    return Path(found)


def check() -> Path:
    """The home of a Java that can run every part. Raises StackError naming what is wrong with the one found."""
    java = binary()
    report = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True)
    properties = dict(re.findall(r"^\s+([\w.]+) = (.*)$", report.stderr, re.MULTILINE))
    version = properties.get("java.specification.version", "")
    if report.returncode or not version:
        raise StackError(f"{java} does not run: {report.stderr.strip()[:300]}", remedy=REMEDY)
    if int(version.removeprefix("1.").split(".")[0]) < OLDEST:
        raise StackError(f"{java} is Java {version}; Sundial needs {OLDEST} or later", remedy=REMEDY)
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True).stdout
    if VECTOR not in modules:
        raise StackError(f"{java} is a trimmed Java {version} without the module {VECTOR}, which Spark needs", remedy=REMEDY)
    return Path(properties["java.home"])
