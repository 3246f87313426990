"""What is said of a capture on a command line, or to a DAG."""

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}  # between the fields of a CSV, by name
UNITS = ("s", "ms", "us", "ns")  # of times that are numbers; `transforms/capture_cells.py` has how long each is
