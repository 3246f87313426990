"""Files of past readings, without a declaration: a sample of one shows what is in it."""
