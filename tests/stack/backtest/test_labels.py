"""Labels: how they are read, and how alarms are judged by them."""

import numpy as np
import pytest

from stack.backtest.labels import Label, judged, read_labels
from stack.errors import StackError
from tests.stack.backtest.captures import MONDAY, csv_file, rows_of

START = round(MONDAY.timestamp() * 1000)
HOUR = 3_600_000


def test_alarms_are_judged_by_hand():
    rows = rows_of([60.0 * each for each in range(14 * 24)] * 2, [1.0] * 14 * 24 * 2, [0] * 14 * 24 + [1] * 14 * 24, ("a", "b"))
    alarm = np.zeros(len(rows.values), bool)
    alarm[[200, 210, 212, 250, 14 * 24 + 300, 5]] = True
    labels = [Label("a", START + 208 * HOUR, START + 215 * HOUR), Label("b", START + 290 * HOUR, START + 301 * HOUR)]
    labels += [Label("b", START + 250 * HOUR, START + 250 * HOUR), Label("a", START, START + HOUR)]
    found = judged(rows, alarm, labels, START + 7 * 24 * HOUR)
    assert (found.labels, found.found, found.alarms, found.right) == (3, 2, 5, 3)
    assert (found.precision, found.recall) == (3 / 5, 2 / 3)
    assert found.delay_seconds == (2 + 10) / 2 * 3600
    assert found.false_per_week == pytest.approx(2 / ((14 * 24 - 1 - 7 * 24) / 168))


def test_nothing_to_judge_is_no_number():
    rows = rows_of([0, 60], [1, 1])
    found = judged(rows, np.zeros(2, bool), [], START)
    assert np.isnan([found.precision, found.recall, found.delay_seconds]).all()


def test_labels_are_read_and_refused(tmp_path):
    file = csv_file(tmp_path / "labels.csv", "service,start,end", "www,2014-06-02 01:00:00,2014-06-02T02:00:00Z")
    assert read_labels(file, "UTC", ["www"]) == [Label("www", START + HOUR, START + 2 * HOUR)]
    with pytest.raises(StackError, match=r"label 1: column 'service': the capture has no service 'www'"):
        read_labels(file, "UTC", ["other"])
    csv_file(file, "service,start,end", "www,2014-06-02 03:00:00,2014-06-02 02:00:00")
    with pytest.raises(StackError, match="label 1: column 'end': it ends before it starts"):
        read_labels(file, "UTC", ["www"])
    csv_file(file, "service,start", "www,1")
    with pytest.raises(StackError, match=r"labels.csv:1: no column 'end'"):
        read_labels(file, "UTC", ["www"])
