"""Captures in CSV: what may stand between the fields of a line, by the word that names it on a command line."""

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
