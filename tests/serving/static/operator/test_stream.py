"""An operator switches a stream."""

from playwright.sync_api import expect

from tests.serving.static.operator.dialogs import log_in


def test_a_stream_is_switched_on(page, site, feed, airflow):
    url, operator, _ = site
    page.goto(url)
    log_in(page, operator)
    page.get_by_role("button", name="Switch the scoring stream on").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_hidden()
    dialog.get_by_role("button", name="Switch on").click()
    expect(dialog).to_be_hidden()
    assert airflow.came == [(f"supervise_streams.{feed.name}", {"is_paused": False})]
