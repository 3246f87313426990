"""Why a request failed, in the API's own words."""

import httpx


class ApiError(Exception):
    """status: of HTTP; None: there was no answer. detail: what is wrong; remedy: what to do; kind: stable for programs."""

    def __init__(self, url: str, status: int | None, detail: str, remedy: str, kind: str | None = None):
        answered = "no answer" if status is None else str(status)
        super().__init__(f"{url}: {answered}: {detail} {remedy}".strip())
        self.url, self.status, self.detail, self.remedy, self.kind = url, status, detail, remedy, kind


def refused(answer: httpx.Response) -> ApiError:
    """answer: one that was read, of a status that is no success."""
    try:
        problem = answer.json()
        return ApiError(str(answer.url), answer.status_code, problem["detail"], problem["remedy"], problem["type"])
    except (ValueError, KeyError, TypeError):  # something between here and serving has answered
        return ApiError(str(answer.url), answer.status_code, answer.text[:200] or answer.reason_phrase, "")
