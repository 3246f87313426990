"""What is said of a capture on a command line, or to a DAG."""

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}  # between the fields of a CSV, by name
# A cell of a row without a value, which is a gap, also at a local time that never was; RE2 and Java read it alike.
MISSING = r"(?i)^\s*(nan|null|none|na|n/a)?\s*$"
# A number of 0 or more, as text, whose decimals are wanted: RE2 and Java read it alike.
AMOUNT = r"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*$"
HIGHEST_SCALE = 1_000_000_000  # of values: what they are multiplied by
UNITS = ("s", "ms", "us", "ns")  # of times that are numbers; `transforms/capture_cells.py` has how long each is
