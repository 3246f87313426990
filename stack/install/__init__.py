"""What `make setup` does: Python packages, jars, a check of Java, the archive of Spark's classes. It runs before the virtual
environment exists, so it uses the standard library and imports no other room of the stack.
"""
