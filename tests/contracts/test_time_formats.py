"""Formats of times: Python's own strptime says what each must mean."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.time_formats import TimeFormat, TimeFormatError
from sources.columns import iso_text, text_times

YEARS, MONTHS = st.sampled_from(["%Y", "%y"]), st.sampled_from(["%m", "%b"])
MARKS = st.sampled_from(["/", ".", "-", " ", ", ", "_", "年", "Z ", "%%", "(", "|", "^", "\\"])
CLOCKS = st.sampled_from(["", "%H:%M", "%H.%M.%S", "%I:%M %p", "%I:%M:%S%p", "%H:%M:%S.%f", "%H:%M:%S %z", "T%H%M"])
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
MOMENTS = st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2067, 12, 31), timezones=ZONES)


@st.composite
def formats(draw) -> str:
    date = draw(st.permutations([draw(YEARS), draw(MONTHS), "%d"]))
    mark = draw(MARKS)
    return mark.join(date) + (f" {clock}" if (clock := draw(CLOCKS)) else "")


def milliseconds(moment: dt.datetime) -> int:
    """Since 1970, of the clock if the moment has no offset."""
    zone = dt.UTC if moment.tzinfo else None
    return (moment - dt.datetime(1970, 1, 1, tzinfo=zone)) // dt.timedelta(milliseconds=1)


@given(formats(), MOMENTS)
def test_a_time_is_read_as_strptime_reads_it(form: str, moment: dt.datetime):
    written = moment.strftime(form)
    expected = dt.datetime.strptime(written, form)
    (stamp,), (readable,), (local,) = text_times(iso_text(pa.array([f" {written} "]), TimeFormat.parsed(form)))
    assert readable, written
    assert (int(stamp), bool(local)) == (milliseconds(expected), expected.tzinfo is None)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%d.%m.%Y", ["2024-12-31", "31.13.2024", "30.02.2024", "31.12.24", "31.12.2024 10:00", "", "x31.12.2024"]),
        ("%d.%m.%Y %H:%M", ["31.12.2024", "31.12.2024 24:00", "31.12.2024 10:60", "31.12.2024 10:00 PM"]),
        ("%m/%d/%Y %I:%M %p", ["12/31/2024 13:00 PM", "12/31/2024 00:30 AM", "12/31/2024 10:00", "12/31/2024 10:00 XM"]),
        ("%d %b %Y", ["31 Foo 2024", "31 12 2024", "31 December 2024"]),
        ("%Y.%m.%d", ["2024x12x31", "1714539600"]),
        ("%d.%m.%Y %H:%M %z", ["31.12.2024 10:00", "31.12.2024 10:00 +25:00", "31.12.2024 10:00 CET"]),
    ],
)
def test_what_is_of_another_format_is_no_time(form: str, texts: list[str]):
    read = iso_text(pa.array([*texts, None]), TimeFormat.parsed(form))
    assert not text_times(read)[1].any(), read


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("", "%Y or %y is missing: a time has a year, a month and a day"),
        ("%Y-%m", "%d is missing: a time has a year, a month and a day"),
        ("yyyy-MM-dd", "%Y or %y is missing"),
        ("%Y %y %m %d", "%Y and %y exclude each other"),
        ("%Y-%m-%d %d", "%d stands twice in it"),
        ("%Y-%m-%d %H", "%H needs %M"),
        ("%Y-%m-%d %I:%M", "%I needs %p"),
        ("%Y-%m-%d %M", "%M needs %H or %I"),
        ("%Y-%m-%d %j", "'%j' is none of the directives %Y %y %m %b"),
        ("%Y-%m-%d %", "'%' is none of the directives"),
    ],
)
def test_what_is_no_format_is_refused_with_the_reason(form: str, why: str):
    with pytest.raises(TimeFormatError) as refused:
        TimeFormat.parsed(form)
    assert str(refused.value).startswith(why)
