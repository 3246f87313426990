"""Makes what docs/detection.md shows: the report of a backtest on the road-traffic sample, and pictures of parts of it.

python docs/pictures.py [FOLDER]     (default: docs/)
"""

import datetime as dt
import shutil
import subprocess
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
REPORT, ZONE = "backtest-road-traffic.html", "America/Chicago"
BACKTEST = f"""backtest samples/metro_interstate_traffic_volume.csv.gz --timestamp date_time --value traffic_volume --interval 1h
--timezone {ZONE} --holidays US-MN"""
PICTURES = {  # the first and the last local date of each
    "detection.png": ("2012-11-19", "2012-12-09"),
    "detection-first-weeks.png": ("2012-10-02", "2012-10-30"),
    "detection-closed-road.png": ("2015-07-16", "2015-08-06"),
}


def make(folder: Path) -> None:
    command = [ROOT / ".venv/bin/sundial", *BACKTEST.split(), "--output", "/dev/null", "--report", folder / REPORT]
    subprocess.run(command, cwd=ROOT, check=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
        for name, (first, last) in PICTURES.items():
            page.goto(f"{(folder / REPORT).resolve().as_uri()}#chart=0&from={_seconds(first)}&to={_seconds(last)}")
            page.reload()
            page.locator("section").first.screenshot(path=folder / name)
        browser.close()


def _seconds(date: str) -> int:
    return round(dt.datetime.fromisoformat(date).replace(tzinfo=ZoneInfo(ZONE)).timestamp())


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs")
