"""Pure formulas: DataFrames and Columns in, DataFrames and Columns out. No session, clock, path, topic or environment."""
