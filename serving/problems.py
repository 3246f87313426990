"""Errors as application/problem+json (RFC 9457): what is wrong, and what to do about it."""

import logging
from typing import Any

import duckdb
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from serving.lake import UnreadableError, reason
from serving.security_headers import HEADERS

log = logging.getLogger("serving")


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, status: int, kind: str, title: str, detail: str, remedy: str):
        super().__init__(detail)
        self.status, self.kind = status, kind
        self.body: dict[str, Any] = {
            "type": f"sundial:{kind}",
            "title": title,
            "status": status,
            "detail": detail,
            "remedy": remedy,
        }

    def __reduce__(self) -> tuple[type, tuple]:
        """As pickle makes it again: another process may raise it (`long_reads`)."""
        return type(self), (self.status, self.kind, *(self.body[name] for name in ("title", "detail", "remedy")))


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem."""

    @app.exception_handler(ProblemError)
    async def _problem(request: Request, error: ProblemError):
        return answer(error)

    @app.exception_handler(UnreadableError)
    async def _unreadable(request: Request, error: UnreadableError):
        remedy = "Put the table's folder back from a backup, or start what stores it; /health names each such table."
        return answer(ProblemError(503, "no-lake", "A table cannot be read", f"{error.table}: {error.why}", remedy))

    # Requests read no other files than those of the lake's tables. A table can be opened while one of its files is gone.
    @app.exception_handler(FileNotFoundError)
    @app.exception_handler(duckdb.IOException)
    async def _no_file(request: Request, error: Exception):
        log.error("%s %s: %s", request.method, request.url.path, reason(error))
        remedy = "Put the table's folder back from a backup. If upkeep has just removed the file, ask again in a second."
        return answer(ProblemError(503, "no-lake", "A table cannot be read", reason(error), remedy))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError):
        mistakes = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors())
        remedy = "Correct the parameters; /openapi.json lists what each accepts."
        return answer(ProblemError(422, "invalid-parameter", "A parameter is not valid", mistakes, remedy))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException):
        remedy = "See /openapi.json for the paths and methods there are."
        detail = f"{request.method} {request.url.path}"
        refusal = answer(ProblemError(error.status_code, "http", str(error.detail), detail, remedy))
        for name, value in (error.headers or {}).items():
            refusal.headers[name] = f"{value}, HEAD" if (name, value) == ("Allow", "GET") else value
        return refusal

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception):
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        detail = f"{type(error).__name__} while answering {request.url.path}"
        fault = answer(ProblemError(500, "unexpected", "This is our fault", detail, "See the log of serving for the cause."))
        # This handler alone is outside all middleware.
        fault.headers.update(HEADERS | {"Cache-Control": "no-store"})
        return fault


def answer(problem: ProblemError) -> JSONResponse:
    return JSONResponse(problem.body, status_code=problem.status, media_type="application/problem+json")
