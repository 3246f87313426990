"""Access logs: a line that is written by the format's rules is read back, and every interval of every service is told once."""

import datetime as dt
import gzip
import re
from collections import defaultdict

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql.streaming.tws_tester import TwsTester

from contracts.access_logs import COLUMNS
from contracts.declarations import SCHEMAS
from jobs.transforms import access_log
from jobs.transforms.queries import access_log as counting
from jobs.transforms.queries.access_log import _Counts, told

SAMPLE = SCHEMAS.parent / "samples" / "nasa_access_log_1995-08-01.log.gz"
WORD = st.from_regex(r"[a-z0-9.]{1,12}", fullmatch=True)
TEXT = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
PATHS = st.from_regex(r"/[a-zA-Z0-9/?=&%._\"\\-]{0,20}", fullmatch=True)
MOMENTS = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2090, 1, 1)).map(lambda each: each.replace(microsecond=0))
OFFSETS = st.integers(-12 * 4, 14 * 4).map(lambda quarters: dt.timezone(dt.timedelta(minutes=15 * quarters)))
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def read(spark, *lines: str) -> list:
    frame = spark.createDataFrame(list(enumerate(lines)), "Number int, Line string")
    parts = frame.select("Number", access_log.parts(F.col("Line")).alias("_parts"))
    columns = [column.alias(name) for name, column in access_log.fields(F.col("_parts")).items()]
    return parts.select("Number", *columns, access_log.reason(F.col("_parts")).alias("Error")).orderBy("Number").collect()


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


@settings(deadline=None, max_examples=5)
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


SECOND = 1000
INTERVAL, LATENESS, FORGET = 10 * SECOND, 20 * SECOND, 100 * SECOND
LINES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 400)), min_size=1, max_size=30)


def expected(lines: list[tuple[str, int]], over: int) -> dict[tuple[str, int], int]:
    """Readings of all intervals before `over`, of lines (service, second), interval by interval."""
    counts = defaultdict(int)
    for service, second in lines:
        counts[service, second * SECOND // INTERVAL * INTERVAL] += 1
    found = {}
    for service in {service for service, _ in lines}:
        starts = sorted(start for name, start in counts if name == service)
        for start in range(starts[0], over, INTERVAL):
            last = max(each for each in starts if each <= start)
            if start <= last + FORGET:
                found[service, start] = counts[service, start]
    return found


class Log:
    """The processor of one feed between batches; the machine's clock is moved by hand. Seconds are those of the log."""

    def __init__(self):
        self.tester = TwsTester(_Counts({"calls": (INTERVAL, LATENESS, FORGET)}), timeMode="ProcessingTime")
        self.readings: dict[tuple[str, int], int] = {}
        self.late: dict[tuple[str, int], int] = defaultdict(int)

    def batch(self, *lines: tuple[str, int], behind: int = 0) -> None:
        """Lines (service, second); they come `behind` seconds after the newest of them was written."""
        came = max(second for _, second in lines) + behind
        rows = [{"ServiceName": name, "Value": 1, "At": second * SECOND, "Came": came * SECOND} for name, second in lines]
        self._keep(self.tester.testInPandas("calls", pd.DataFrame(rows)))

    def silence(self, until: int) -> None:
        """The machine's clock goes on to that second."""
        self._keep(self.tester.setProcessingTime(until * SECOND))

    def at(self, second: int) -> "Log":
        self.tester.setProcessingTime(second * SECOND)
        return self

    def _keep(self, rows: pd.DataFrame) -> None:
        for row in rows.to_dict("records"):
            place = row["ServiceName"], row["Start"]
            if row["Late"]:
                self.late[place] += row["Value"]
            else:
                assert place not in self.readings, "a reading is told once"
                self.readings[place] = row["Value"]


@settings(deadline=None)
@given(LINES, st.lists(st.integers(1, 10), max_size=10), st.integers(0, 15))
def test_any_batches_of_lines_in_time_end_in_the_counts_of_every_interval(lines, sizes, jitter):
    """Lines are out of order by less than the lateness. In the end the old log is silent for longer than that."""
    ordered = sorted(lines, key=lambda line: line[1] + jitter * (line[0] == "a"))
    log, rest = Log(), list(ordered)
    for size in [*sizes, len(ordered)]:
        part, rest = rest[:size], rest[size:]
        if part:
            log.batch(*part, behind=1_000_000)
    newest = max(second for _, second in lines) * SECOND
    log.silence(1000)
    assert log.readings == expected(lines, newest // INTERVAL * INTERVAL + INTERVAL)
    assert not log.late


@given(LINES, st.integers(0, 50))
def test_telling_in_two_steps_is_telling_at_once(lines, steps):
    seen = [(name, second * SECOND // INTERVAL * INTERVAL, 1) for name, second in lines]
    counts = pd.DataFrame(seen, columns=["ServiceName", "Start", "Value"])
    counts = counts.groupby(["ServiceName", "Start"], as_index=False)["Value"].sum()
    none, middle, end = counts[:0], steps * INTERVAL, 500 * SECOND
    first, known = told(counts, none, counting.NEVER, middle, INTERVAL, FORGET)
    second, _ = told(counts[counts["Start"] >= middle], known, middle, end, INTERVAL, FORGET)
    rows = pd.concat([first, second])
    assert dict(zip(zip(rows["ServiceName"], rows["Start"], strict=True), rows["Value"], strict=True)) == expected(lines, end)
    assert len(rows) == len(expected(lines, end))


def starts(log: Log, service: str) -> list[tuple[int, int]]:
    return sorted((start // SECOND, value) for (name, start), value in log.readings.items() if name == service)


def test_an_interval_is_told_once_a_line_is_past_it_by_the_lateness():
    log = Log()
    log.batch(("a", 5), ("b", 12))
    log.batch(("a", 29))
    assert not log.readings
    log.batch(("a", 30))
    assert log.readings == {("a", 0): 1}
    log.batch(("a", 15), ("a", 41))
    assert log.readings == {("a", 0): 1, ("a", 10_000): 1, ("b", 10_000): 1}


def test_a_line_that_comes_after_its_interval_was_told_is_told_as_late():
    log = Log()
    log.batch(("a", 5), ("a", 31))
    log.batch(("a", 7), ("b", 8), ("a", 9), ("a", 15))
    assert log.readings == {("a", 0): 1}
    assert log.late == {("a", 0): 2, ("b", 0): 1}


def test_silence_of_a_live_log_is_zeros_until_its_services_are_forgotten():
    log = Log().at(1000)
    log.batch(("a", 1000), ("b", 955))
    log.silence(1029)
    assert ("a", 1000_000) not in log.readings
    log.silence(1030)
    assert starts(log, "a") == [(1000, 1)]
    log.silence(1050)
    assert starts(log, "a") == [(1000, 1), (1010, 0), (1020, 0)]
    log.silence(2000)
    assert starts(log, "a") == [(1000, 1), *((second, 0) for second in range(1010, 1110, 10))]
    assert [second for second, _ in starts(log, "b")][-1] == 1050
    assert list(log.tester.handle._timers.getAllKeysWithTimers()) == [], "nothing more is waited for"


def test_silence_of_an_old_log_ends_with_its_last_line():
    log = Log().at(5000)
    log.batch(("a", 0), ("a", 25), behind=4000)
    log.silence(5004)
    assert starts(log, "a") == []
    log.silence(5014)
    assert starts(log, "a") == [(0, 1)]
    log.silence(6000)
    assert starts(log, "a") == [(0, 1), (10, 0), (20, 1)]


def test_a_server_whose_clock_is_ahead_ends_no_interval():
    log = Log()
    log.batch(("a", 5))
    log.tester.testInPandas("calls", pd.DataFrame([{"ServiceName": "a", "Value": 1, "At": 900 * SECOND, "Came": 6 * SECOND}]))
    log.batch(("a", 7))
    assert (log.readings, log.late) == ({}, {})
