"""The error that ends a job."""


class JobError(Exception):
    """A job can't go on; the message says what is at fault and what to do."""
