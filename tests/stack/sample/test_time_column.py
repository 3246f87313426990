"""Times that are not ISO 8601: the common formats are found, and what a file does not tell is asked for."""

import datetime as dt

import pytest

from contracts.time_formats import TimeFormat
from stack.sample.time_column import COMMON
from tests.stack.sample.test_inference import file, found, refusal


@pytest.mark.parametrize("form", [form.text for form in COMMON])
def test_a_common_format_of_times_is_found_by_a_day_after_the_12th(tmp_path, form):
    at = [dt.datetime(2031, 1, 28) + dt.timedelta(days=each) for each in range(9)]
    read = found(file(tmp_path, "at;calls", *(f"{time.strftime(form)};{time.day}" for time in at)), timezone="UTC")
    assert (read.times.column, read.times.form.text, read.interval) == ("at", form, 86_400)
    assert (read.first, read.last) == tuple(round(time.replace(tzinfo=dt.UTC).timestamp() * 1000) for time in (at[0], at[-1]))
    assert read.why["time"] == f"the only column of times: local times, {form}"


def test_days_that_could_be_months_are_asked_for_and_the_option_says_it(tmp_path):
    path = file(tmp_path, "at,calls", "01/02/2024 00:00,1", "01/02/2024 00:05,2", "01/02/2024 00:10,3")
    assert refusal(path, timezone="UTC") == (
        "whether the day or the month comes first in its times: ['%d/%m/%Y %H:%M', '%m/%d/%Y %H:%M']\nwhat to do: --time-format"
    )
    read = found(path, timezone="UTC", time_format=TimeFormat.parsed("%m/%d/%Y %H:%M"))
    assert read.first == round(dt.datetime(2024, 1, 2, tzinfo=dt.UTC).timestamp() * 1000)


def test_the_row_that_is_written_otherwise_is_named_far_behind_the_first(tmp_path):
    rows = [f"{13 + row // 288}.05.2024 {row // 12 % 24:02}:{row % 12 * 5:02},1" for row in range(1500)]
    path = file(tmp_path, "at,calls", *rows, "2024-05-19 00:00,1")
    assert refusal(path, timezone="UTC").startswith(
        f"{path}:1502: column 'at': '2024-05-19 00:00' is no time of the format %d.%m.%Y %H:%M"
    )
