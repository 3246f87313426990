"""Access logs: a line that is written by the format's rules is read back, what is none says why, and whose request it was."""

import datetime as dt
import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from contracts.access_logs import COLUMNS
from contracts.declarations import SCHEMAS
from jobs.transforms import access_log_lines
from jobs.transforms.queries import access_log as counting

SAMPLE = SCHEMAS.parent / "samples" / "nasa_access_log_1995-08-01.log.gz"
WORD = st.from_regex(r"[a-z0-9.]{1,12}", fullmatch=True)
TEXT = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
PATHS = st.from_regex(r"/[a-zA-Z0-9/?=&%._\"\\-]{0,20}", fullmatch=True)
MOMENTS = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2090, 1, 1)).map(lambda each: each.replace(microsecond=0))
OFFSETS = st.integers(-12 * 4, 14 * 4).map(lambda quarters: dt.timezone(dt.timedelta(minutes=15 * quarters)))
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def read(spark, *lines: str) -> list:
    frame = spark.createDataFrame(list(enumerate(lines)), "Number int, Line string")
    groups = frame.select("Number", access_log_lines.groups(F.col("Line")).alias("_groups"))
    columns = [column.alias(name) for name, column in access_log_lines.fields(F.col("_groups")).items()]
    return groups.select("Number", *columns, access_log_lines.reason(F.col("_groups")).alias("Error")).orderBy("Number").collect()


def quoted(text: str) -> str:
    """As Apache writes it within quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


@st.composite
def requests(draw) -> tuple[str, dict]:
    """A line, and what it says."""
    at = draw(MOMENTS).replace(tzinfo=draw(OFFSETS))
    given_ = {
        "VirtualHost": draw(st.none() | WORD),
        "Client": draw(WORD),
        "User": draw(st.none() | st.sampled_from(["frank", "john doe"])),
        "Timestamp": at.astimezone(dt.UTC).replace(tzinfo=None),
        "Method": draw(st.sampled_from(["GET", "POST", "M-SEARCH"])),
        "Path": draw(PATHS),
        "Status": draw(st.integers(100, 599)),
        "Bytes": draw(st.integers(0, 2**62)),
    }
    request = f"{given_['Method']} {quoted(given_['Path'])}{draw(st.sampled_from(['', ' HTTP/1.1', ' HTTP/2']))}"
    time = f"{at.day:02}/{MONTHS[at.month - 1]}/{at:%Y:%H:%M:%S %z}"
    size = "-" if given_["Bytes"] == 0 and draw(st.booleans()) else given_["Bytes"]
    port = draw(st.sampled_from(["", ":443"]))
    host = f"{given_['VirtualHost']}{port} " if given_["VirtualHost"] else ""
    line = f'{host}{given_["Client"]} - {given_["User"] or "-"} [{time}] "{request}" {given_["Status"]} {size}'
    combined = {"Referrer": None, "Agent": None}
    if draw(st.booleans()):
        combined = {name: draw(TEXT) for name in combined}
        line += "".join(f' "{quoted(text)}"' for text in combined.values()) + draw(st.sampled_from(["", " 0.003", ' "more" "-"']))
    given_["Path"] = quoted(given_["Path"])
    return line, given_ | {name: None if text in ("", "-", None) else quoted(text) for name, text in combined.items()}


@pytest.mark.full
@settings(max_examples=settings.default.max_examples // 5)  # each is a job of Spark
@given(st.lists(requests(), min_size=40, max_size=60))
def test_a_line_of_either_format_is_read_back(spark, written):
    for row, (line, said) in zip(read(spark, *(line for line, _ in written)), written, strict=True):
        assert ({name: row[name] for name in COLUMNS}, row.Error) == (said, None), line


GOOD = '1.2.3.4 - - [01/Aug/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 5'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "not a line of the Common or Combined Log Format"),
        ("GET / HTTP/1.0", "not a line of the Common or Combined Log Format"),
        (GOOD + " 17", "not a line of the Common or Combined Log Format"),
        (GOOD.replace("200", "2000"), "not a line of the Common or Combined Log Format"),
        (GOOD.replace(" 200 5", ""), "not a line of the Common or Combined Log Format"),
        (GOOD.replace("GET", "\u0001"), "not a line of the Common or Combined Log Format"),
        ("x" * 100_000, "not a line of the Common or Combined Log Format"),
        (GOOD.replace("GET", '"' * 50_000), "not a line of the Common or Combined Log Format"),
        (GOOD.replace("01/Aug", "32/Aug"), "no such time: 32/Aug/1995:00:00:01 -0400"),
        (GOOD.replace("200 5", "200 99999999999999999999"), "no such size: 99999999999999999999"),
    ],
)
def test_what_is_no_line_says_why(spark, line, reason):
    [row] = read(spark, line)
    assert row.Error == reason


def test_a_request_that_is_no_http_is_a_line_without_method_and_path(spark):
    garbage = GOOD.replace("GET / HTTP/1.0", r"\x16\x03" * 5000).replace("200", "400")
    for row in read(spark, GOOD.replace("GET / HTTP/1.0", "-"), garbage):
        assert (row.Error, row.Method, row.Path, row.Bytes) == (None, None, None, 5)


def test_every_line_of_the_sample_is_one(spark):
    lines = gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()
    rows = read(spark, *lines)
    assert {row.Error for row in rows} == {None}
    path = "/shuttle/missions/sts-68/news/sts-68-mcc-05.txt"
    first = {"Client": "in24.inetnebr.com", "Method": "GET", "Path": path, "Status": 200, "Bytes": 1839}
    assert {name: rows[0][name] for name in first} == first
    assert rows[0].Timestamp == dt.datetime(1995, 8, 1, 4, 0, 1)
    assert sum(row.Bytes for row in rows) == sum(int(re.search(r" (\d+|-)$", line)[1].replace("-", "0")) for line in lines)


@pytest.mark.parametrize(
    ("feed", "names"),
    [
        ({"service": "path", "services": "shop|search"}, ["shop", "shop", "search", "other", "other", "other"]),
        ({"service": "path", "services": ".*"}, ["shop", "shop", "search", "wp-admin", "other", "other"]),
        ({"service": "host", "services": None}, ["a.org", "b.org", "other", "a.org", "a.org", "a.org"]),
        ({"service": "host", "services": "a.org"}, ["a.org", "other", "other", "a.org", "a.org", "a.org"]),
    ],
)
def test_a_service_is_a_declared_one_or_other(spark, feed, names):
    paths = ["/shop/1?x=/search", "http://proxy.org/shop", "/search;a=b", "/wp-admin/%00", None, "/" + "x" * 200]
    hosts = ["a.org", "b.org", None, "a.org", "a.org", "a.org"]
    frame = spark.createDataFrame(list(zip(range(6), hosts, paths, strict=True)), "Number int, VirtualHost string, Path string")
    rows = frame.select("Number", counting._service(feed | {"others": "other"}).alias("ServiceName")).orderBy("Number")
    assert [row.ServiceName for row in rows.collect()] == names
