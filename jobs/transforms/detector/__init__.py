"""The detector: which readings are worth waking up for. Pure functions over arrays with one entry per service; NumPy only."""
