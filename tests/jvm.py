"""How the JVMs of tests run: shortly, so the light compiler and the archive of Spark's classes save more than they cost."""

from stack.install import class_archive
from stack.instance import CLASSES

LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
BRIEF = f"{LIGHT} {class_archive.java_options(CLASSES / 'spark.jsa')}".strip()
ENVIRONMENT = {"JDK_JAVA_OPTIONS": BRIEF}  # for drivers in processes of their own
