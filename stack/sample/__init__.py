"""Files of past readings that nobody here wrote: what is in them, found out from a sample."""
