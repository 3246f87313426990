"""A pytest plugin: which tests a tier runs, how they are shared out among shards and workers, and which skips are allowed.

`--tier check` runs what needs no broker, `test` each kind of real part once, and `all`, the default, everything. A test is in the
tier that its fixtures and its room put it in: one that asks for a fixture of PARTS, or stands in LONG_ROOMS, is not in `check`.
Only `all` runs FULL_ROOMS, except EVERY_TIER. Two marks say what these do not: `parts` (it starts a broker, cluster or stack by
itself) and `full` (only `all` runs it).

A unit stays together in one shard and on one worker: a file, the files of a pattern of UNITS, which share a costly fixture, or a
page that is typed. Costly units run first, so that the workers end at about the same time; `costs.json` says what each took. All
units of STACKS run on one worker: two whole stacks at once overload two cores, and each would need a story of its own. Tests of
the stack come first. After the last of them it stops: an idle one would take a fifth of two cores from the tests that follow.
"""

import json
import time
from collections.abc import Generator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from _pytest.fixtures import FixtureDef, SubRequest
from _pytest.terminal import TerminalReporter
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

TIERS = ("check", "test", "all")
STACK = "platform_stack"
PARTS = {"broker", STACK, "cluster"}
LONG_ROOMS = ("tests/jobs/",)  # they make Delta tables with Spark, test by test: not for `check`
FULL_ROOMS = ("tests/bench/", "tests/delivery/", "tests/serving/static/")  # benchmarks, what Kafka itself promises, and pages
# Of these: what a service's page shows, how soon it shows a record, and who may act.
EVERY_TIER = tuple(f"tests/serving/static/{name}.py" for name in ("test_app", "test_within_a_second", "operator/test_login"))
UNITS = ("tests/delivery/*", "tests/jobs/test_*_baseline.py")
PAGES = "tests/docs/test_pages.py"
PAGE = "access-logs.md"  # the page that the tier `test` types
# A typed page is a unit. That of `test` goes with what else needs a whole stack there; two count records of the same topic.
TYPED_WITH = {PAGE: "tests/end_to_end/test_main_path.py", "queries.md": f"{PAGES}[rides.md]"}
STACKS = ("tests/end_to_end/", f"{PAGES}[")
COSTS = Path(__file__).parents[1] / "costs.json"
UNKNOWN = 5.0  # seconds of a unit that was never measured
MAY_SKIP = (
    "there is no kubectl",
    "no chromium on this machine",
    "there is no promtool",
    "there is no libfaketime",
    "Kafka Streams' jars are not there",  # the benchmark that needs them fetches them
)
WORTH_NOTING = 0.5  # seconds of a fixture's set-up that the report keeps


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "tiers and shards of the tests")
    group.addoption("--tier", choices=TIERS, default="all", help="which tests to run (default: %(default)s)")
    group.addoption("--shard", type=_shard, metavar="K/N", help="run the K-th of N parts of about the same length")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: only the tier `all` runs it")
    config.addinivalue_line(
        "markers", "parts: it starts a broker, a cluster or a stack by itself; the tier `check` leaves it out"
    )
    config.addinivalue_line("markers", "kill: it kills what it tests, again and again")
    config.pluginmanager.register(Skips(), "skips")


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"{text!r} is no shard: K/N with 1 <= K <= N")
    return int(number), int(count)


def unit(nodeid: str) -> str:
    """The unit of a test."""
    file, _, test = nodeid.partition("::")
    if file == PAGES and "[" in test:
        page = test.partition("[")[2].rstrip("]")
        return TYPED_WITH.get(page, f"{file}[{page}]")
    return next((pattern for pattern in UNITS if fnmatch(file, pattern)), file)


@cache
def _costs() -> dict[str, float]:
    return json.loads(COSTS.read_text())


def cost(name: str) -> float:
    """Seconds that a unit took when it was measured."""
    return _costs().get(name, UNKNOWN)


def tier(item: pytest.Item) -> str:
    """The smallest tier that runs the test."""
    if item.get_closest_marker("full") or (item.nodeid.startswith(FULL_ROOMS) and not item.nodeid.startswith(EVERY_TIER)):
        return "all"
    real = PARTS & _fixtures(item) or item.get_closest_marker("parts")
    real = real or item.nodeid.startswith(LONG_ROOMS)
    return "test" if real else "check"


def shares(units: set[str], count: int) -> list[set[str]]:
    """The units in so many shares of about the same cost: the costliest first, each to the share that has the least."""
    found: list[set[str]] = [set() for _ in range(count)]
    sums = [0.0] * count
    for name in sorted(units, key=lambda name: (-cost(name), name)):
        least = sums.index(min(sums))
        found[least].add(name)
        sums[least] += cost(name)
    return found


def _refuse_unknown_fixtures(items: list[pytest.Item]) -> None:
    """Each tier collects all tests: a test that only a longer one runs can't wait with a fixture that there is not."""
    for item in items:
        if isinstance(item, pytest.Function):
            its = item._fixtureinfo
            if unknown := set(its.names_closure) - its.name2fixturedefs.keys() - {"request"}:
                raise pytest.UsageError(f"{item.nodeid}: no fixture {', '.join(sorted(unknown))}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _refuse_unknown_fixtures(items)
    wanted = TIERS.index(config.getoption("tier"))
    chosen = [item for item in items if TIERS.index(tier(item)) <= wanted]
    if shard := config.getoption("shard"):
        number, count = shard
        share = shares({unit(item.nodeid) for item in chosen}, count)[number - 1]
        chosen = [item for item in chosen if unit(item.nodeid) in share]
    chosen.sort(key=lambda item: (STACK not in _fixtures(item), -cost(unit(item.nodeid))))
    if left := [item for item in items if item not in set(chosen)]:
        config.hook.pytest_deselected(items=left)
    items[:] = chosen


class ByUnit(LoadFileScheduling):
    """For several workers: a unit's tests stay together, and so does what needs a whole stack."""

    def _split_scope(self, nodeid: str) -> str:
        found = unit(nodeid)
        return "whole stacks" if found.startswith(STACKS) else found


def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ByUnit:
    return ByUnit(config, log)


class Skips:
    """Fails the run where a test is skipped for a reason that MAY_SKIP does not list."""

    def __init__(self) -> None:
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else None
        if reason and not reason.removeprefix("Skipped: ").startswith(MAY_SKIP):
            self.unexpected.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        for each in self.unexpected:
            terminalreporter.write_line(f"ERROR skipped, and tests/support/tiers.py does not allow it: {each}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if STACK in _fixtures(item) and nextitem and STACK not in _fixtures(nextitem):
        for each in item._fixtureinfo.name2fixturedefs[STACK]:  # type: ignore[attr-defined]
            each.finish(item._request)  # type: ignore[attr-defined]


def _fixtures(item: pytest.Item) -> set[str]:
    """The names of all fixtures that the test asks for, itself or by others."""
    return set(getattr(item, "fixturenames", ()))


_current: list[pytest.Item] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _current[:] = [item]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: FixtureDef, request: SubRequest) -> Generator[None, object, object]:
    """Keeps what a fixture's set-up took among the test's properties, and so in the report of --junitxml."""
    began = time.monotonic()
    try:
        return (yield)
    finally:
        took = time.monotonic() - began
        if took > WORTH_NOTING and _current:
            _current[0].user_properties.append((f"fixture {fixturedef.argname}", round(took, 1)))
