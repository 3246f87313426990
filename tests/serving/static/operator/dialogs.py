"""The dialogs that an operator fills in."""

from playwright.sync_api import Page, expect


def log_in(page: Page, token: str) -> None:
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def reason(page: Page, text: str, button: str, within: float = 20) -> None:
    """Give the reason, and wait until Airflow has done it, within so many seconds."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(text)
    dialog.get_by_role("button", name=button).click()
    expect(dialog).to_be_hidden(timeout=within * 1000)
