"""Data Docs are served as they lie below their run's folder, nothing else is, and nothing in them runs."""

import datetime as dt
import http.client
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from serving.app import create_app
from tests.serving import world
from tests.serving.conftest import problem, served

RUN = "manual__2026-11-20T03:00:00.5+00:00"
REPORT = "validations/baseline/__none__/20261120T030000.000000Z"
STYLE = "static/styles/data_docs_default_styles.css"
OTHERS = [
    "nope/", "nope/index.html", "%2e/index.html", "./index.html", "%2e%2e/index.html", "../index.html", "..%2F..%2Fsecret.html",
    "a%20b/", "a%00b/", "x" * 201 + "/", "%C3%BC/", f"{RUN}%0a/", f"{RUN}%2F..%2F../", "link/index.html", f"link/{STYLE}",
    *(f"{RUN}/{file}" for file in (
        "nope.html", "static", "static/", "./index.html", "/index.html", f"static/{STYLE.removeprefix('static')}",
        "../other/secret.html", "%2e%2e/other/secret.html", "..%2fother%2fsecret.html", "static/%2e%2e/../../other/secret.html",
        "%2Fetc%2Fpasswd", "%252e%252e/other/secret.html", "..%5cother%5csecret.html", "a%00.html", "x" * 300 + ".html",
        "link.html", "folder/secret.html", "inside.html", "secret.txt", "secret.js", ".html",
    )),
]  # fmt: skip


@pytest.fixture
def client(offline):
    return TestClient(create_app(offline), base_url="http://127.0.0.1")


@pytest.fixture
def docs(lake, feed) -> Path:
    return world.data_docs(lake, feed, RUN, text="<h1>The report</h1>")


def fetched(url: str, path: str) -> tuple[int, str]:
    """Status and body of a path, asked for as it stands: browsers and their like would straighten it first."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.parametrize("file", ["", "/", "/index.html"])
def test_the_folder_and_its_index_lead_to_the_newest_report(client, feed, lake, docs, file):
    world.data_docs(lake, feed, RUN, time="20261121T030000.000000Z", text="judged again")
    answer = client.get(f"/gate/{feed.name}/{RUN}{file}", follow_redirects=False)
    newest = f"validations/baseline/__none__/20261121T030000.000000Z/pandas-{feed.name}.html"
    to = f"/gate/{feed.name}/manual__2026-11-20T03%3A00%3A00.5%2B00%3A00/{newest}"
    assert (answer.status_code, answer.headers["location"]) == (307, to)
    assert "judged again" in client.get(to).text


def test_the_address_that_the_api_gives_leads_to_the_report(client, feed, lake, docs):
    world.gate_result(lake, feed, RUN, True, [], dt.datetime.now(dt.UTC))
    (found,) = client.get(f"/api/feeds/{feed.name}/gate-results").json()
    assert "<h1>The report</h1>" in client.get(found["docs_url"]).text


def test_nothing_in_a_report_runs_or_loads(client, feed, docs):
    answer = client.get(f"/gate/{feed.name}/{RUN}/{REPORT}/pandas-{feed.name}.html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert set(answer.headers["content-security-policy"].split("; ")) == {
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox",
    }
    assert (answer.headers["x-content-type-options"], answer.headers["x-frame-options"]) == ("nosniff", "DENY")
    head, body = answer.text.split("</head>")
    assert head.startswith("<html><head><style>")
    assert body == "<body><h1>The report</h1></body></html>"


def test_only_plain_files_below_the_run_are_served(offline, feed, lake, docs):
    other = docs.parent / "other"
    other.mkdir()
    for secret in (
        other / "secret.html",
        docs / "secret.txt",
        docs / "secret.js",
        docs.parent / "index.html",
        lake / "secret.html",
    ):
        secret.write_text("a secret")
    (docs / "link.html").symlink_to(other / "secret.html")
    (docs / "folder").symlink_to(other)
    (docs / "inside.html").symlink_to(docs / "index.html")
    (docs.parent / "link").symlink_to(docs)
    with served(offline) as (url, _):
        assert fetched(url, f"/gate/{feed.name}/{RUN}/{STYLE}") == (200, "body {}")
        found = {path: fetched(url, f"/gate/{feed.name}/{path}") for path in OTHERS}
    assert {path: status for path, (status, _) in found.items()} == dict.fromkeys(OTHERS, 404)
    problems = [json.loads(body) for _, body in found.values()]
    assert {each["type"] for each in problems} == {"sundial:unknown-docs"}
    assert all("gate-results lists the runs" in each["remedy"] for each in problems)


def test_an_undeclared_feed_has_no_docs(client, feed, docs):
    problem(client.get(f"/gate/{feed.table}/{RUN}/index.html"), 404, "unknown-feed")
    problem(client.get(f"/gate/nope/{RUN}/"), 404, "unknown-feed")


def test_docs_without_a_report_say_so(client, feed, lake):
    (lake / "data_docs" / feed.table / "empty").mkdir(parents=True)
    assert "'report'" in problem(client.get(f"/gate/{feed.name}/empty/"), 404, "unknown-docs")["detail"]
