"""The lines of the output: six digits, four decimals of a score, empty cells, and quotes where a CSV file needs them."""

import csv
import io

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.detector.detector import Score
from jobs.transforms.detector.incident_life import NO_INCIDENT
from stack.backtest import output_lines
from stack.backtest.output_lines import cells, quoted, write


def score_of(expected, score) -> Score:
    of = {name: np.zeros(len(score)) for name in Score._fields} | {"expected": np.array(expected), "score": np.array(score)}
    return Score(**of)


def written(columns) -> list[list[str]]:
    file = io.BytesIO()
    write(file, columns)
    return list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))


def test_a_line_has_its_cells_and_an_empty_one_for_what_is_not_there(monkeypatch):
    monkeypatch.setattr(output_lines, "AT_ONCE", 2)
    values, onsets = np.array([50.0, np.nan, 0.25]), np.array([NO_INCIDENT, NO_INCIDENT, 5])
    given, times = pa.array(["50", "", None]), pa.array(["a", "b,c", 'd"e'])
    ids = pa.array([None, None, "x,y@1"])
    columns = cells(times, given, values, score_of([np.nan, 3.0, 200 / 3], [0.0, 0.00004, 12.34567]), onsets, ids)
    assert written(columns) == [
        ["a", "50", "", "", "0.0000", "false", ""],
        ["b,c", "", "3", "", "0.0000", "false", ""],
        ['d"e', "", "66.6667", "0.375", "12.3457", "true", "x,y@1"],
    ]


@given(st.lists(st.floats(-1e12, 1e12).filter(lambda each: each == 0 or abs(each) > 1e-9), min_size=1))
def test_numbers_have_six_digits(values):
    found = output_lines._numbers(np.array(values)).to_pylist()
    for text, value in zip(found, values, strict=True):
        assert abs(float(text) - value) <= abs(value) * 5.000001e-6
        assert len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0")) <= 6


@given(st.lists(st.text(), min_size=1))
def test_any_text_is_read_back(texts):
    texts = [each.replace("\r", "").replace("\x00", "") for each in texts]
    assert [each[0] for each in written([quoted(pa.array(texts)), pa.array(["x"] * len(texts))])] == texts
