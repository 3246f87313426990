"""What is said of a capture on a command line, or to a DAG."""

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}  # between the fields of a CSV, by name
MISSING = r"(?i)^\s*(nan|null|none|na|n/a)?\s*$"  # a cell of a row without a value, which is a gap; RE2 and Java read it alike
UNITS = ("s", "ms", "us", "ns")  # of times that are numbers; `transforms/capture_cells.py` has how long each is
