"""The report and the pictures of docs/detection.md are what the detector of today makes of the sample."""

import json
import re
import runpy

import numpy
import pytest

from stack.instance import ROOT
from tests.serving.conftest import CHROMIUM

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"), pytest.mark.full]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def pictures() -> dict:
    return runpy.run_path(str(DOCS / "pictures.py"))


@pytest.fixture(scope="module")
def made(pictures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    pictures["make"](folder)
    return folder


def parts(report: str) -> tuple[str, dict]:
    """The page without the charts' data, and the data of its one chart."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', report, re.S)
    (chart,) = json.loads(data[1])
    return report.replace(data[1], ""), chart


def test_the_report_is_that_of_the_detector_of_today(pictures, made):
    page, chart = parts((made / pictures["REPORT"]).read_text())
    kept_page, kept = parts((DOCS / pictures["REPORT"]).read_text())
    assert page == kept_page, "docs/backtest-road-traffic.html is of another detector or report: run make pictures"
    assert (chart["incidents"], chart["columns"][0]) == (kept["incidents"], kept["columns"][0])
    # Another machine may add up in another order. A reading without an expected value is NaN.
    for column, before in zip(chart["columns"][1:], kept["columns"][1:], strict=True):
        numpy.testing.assert_allclose(*(numpy.array(each, float) for each in (column, before)), rtol=1e-3, atol=1e-3)


def test_each_picture_shows_a_part_of_its_own(pictures, made):
    assert len({(made / name).read_bytes() for name in pictures["PICTURES"]}) == len(pictures["PICTURES"])


def test_the_page_shows_each_picture(pictures):
    page = (DOCS / "detection.md").read_text()
    for name in pictures["PICTURES"]:
        assert f"]({name})" in page
        assert (DOCS / name).read_bytes().startswith(b"\x89PNG")
