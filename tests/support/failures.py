"""A pytest plugin: names a test as soon as it fails, in the middle of the dots, and writes its report to build/failures.txt.

At the end of a run pytest shows all reports, but a long run may be interrupted before that.
"""

import pytest
from _pytest.terminal import TerminalReporter


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # pytest-xdist's workers print nothing
        config.pluginmanager.register(Failures(config), "failures-at-once")


class Failures:
    def __init__(self, config: pytest.Config):
        self._config = config
        self._file = config.rootpath / "build" / "failures.txt"
        self._file.unlink(missing_ok=True)  # of the run before

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter: TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter:
            reporter.write_line(f"\nfailed: {report.nodeid} ({report.when}): {_reason(report)}", red=True)
            self._file.parent.mkdir(exist_ok=True)
            with self._file.open("a") as file:
                file.write(f"==== {report.nodeid} ({report.when})\n{report.longreprtext}\n{report.caplog}\n")


def _reason(report: pytest.TestReport) -> str:
    """The first line of what was raised."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr)).partition("\n")[0][:200]
