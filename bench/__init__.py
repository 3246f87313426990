"""Benchmarks: each starts what it needs, runs Sundial and its peers in turn, and ends with one JSON line per figure."""
