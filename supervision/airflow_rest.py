"""A session with Airflow's REST API: a login that is renewed, and again what a busy database has rolled back."""

from typing import Any

import httpx
from tenacity import RetryCallState, retry, retry_if_result, stop_after_attempt, wait_fixed

PATIENCE = 30.0  # seconds for an answer


class AirflowError(RuntimeError):
    """Airflow refused, or did not answer. status: of its answer; None if there was none."""

    def __init__(self, what: str, status: int | None = None):
        super().__init__(what)
        self.status = status


def _busy(answer: httpx.Response) -> bool:
    """SQLite, whose one writer is another component just now: the request was rolled back."""
    return answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR and "Database error" in answer.text


def _last(state: RetryCallState) -> Any:
    return state.outcome and state.outcome.result()


class AirflowRest:
    """Nothing is asked before the first call. Any thread may call."""

    def __init__(self, address: str, user: str, password: str):
        self._address, self._login = address, {"username": user, "password": password}
        self._client = httpx.Client(base_url=f"{address}/api/v2/", timeout=PATIENCE)
        self._token: str | None = None

    def call(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """What Airflow answers. Raises AirflowError, and httpx.TransportError where none answers."""
        answer = self.answer(method, path, **more)
        if answer.is_error:
            what = f"Airflow answered {answer.status_code} to {method} {path}: {answer.text[:300]}"
            raise AirflowError(what, answer.status_code)
        found: dict[str, Any] = answer.json()
        return found

    @retry(retry=retry_if_result(_busy), stop=stop_after_attempt(10), wait=wait_fixed(1), retry_error_callback=_last)
    def answer(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Its answer, also one that refuses. Raises as `call` where there is none, or the login is refused."""
        token = self._token or self.log_in()
        answer = self._client.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)
        if answer.status_code == httpx.codes.UNAUTHORIZED:  # a token lasts for a day, or until Airflow has another key
            token = self.log_in()
            answer = self._client.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)
        return answer

    def log_in(self) -> str:
        """A new token. Raises AirflowError."""
        try:
            answer = self._client.post(f"{self._address}/auth/token", json=self._login)
            answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            what = f"Airflow at {self._address} refuses the login of {self._login['username']!r}: {status}"
            raise AirflowError(what, status) from error
        except httpx.HTTPError as error:
            raise AirflowError(f"no Airflow answers at {self._address}: {error}") from error
        token: str = answer.json()["access_token"]
        self._token = token
        return token
