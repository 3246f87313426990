"""The page of baselines as tests read it."""

from typing import NamedTuple

import pytest
from playwright.sync_api import Page

from tests.support.waiting import until

WIDTHS = pytest.mark.parametrize("width", [1300, pytest.param(360, marks=pytest.mark.full)])


class Site(NamedTuple):
    url: str
    query: str  # of the feed

    def of(self, **choice) -> str:
        return "&".join([f"{self.url}?{self.query}", *(f"{name}={value}" for name, value in choice.items())])


def rows(page: Page) -> dict[str, list[str]]:
    """The figures of the picture by service."""
    read = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    return {name: cells for name, *cells in page.locator("#changes-rows tr").evaluate_all(read)}


def course(page: Page) -> list[list]:
    """What the chart of the chosen service and day type has drawn."""
    until("the chart is drawn", lambda: page.evaluate("globalThis.sundial?.chart.data.length ?? 0") == 5)
    return page.evaluate("sundial.chart.data.map((column) => Array.from(column))")


def fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width, "nothing is pushed off the page"
