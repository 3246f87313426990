"""The embedded stack and the `sundial` command: fetches the parts, starts, watches and stops them on one machine.

`bootstrap`, `jars`, `java` and `errors` run before the virtual environment exists and use the standard library only.
"""
