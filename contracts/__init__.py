"""What the parts of Sundial promise each other: feeds, names, Avro contracts.

Pure Python over the data in `schemas/`; imports no other room, so that DAGs, jobs, serving and the stack can all rely on it.
"""
