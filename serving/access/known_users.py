"""The users as their file says now. It may change while serving runs, for the worse as well."""

import datetime as dt
import logging
from pathlib import Path

from contracts.users import User, Users, UsersError

log = logging.getLogger("serving.access")


class KnownUsers:
    """While the file can't be read, nobody is let in."""

    def __init__(self, file: Path | None):
        self._file = file
        self._seen: tuple[int, ...] | None = None
        self._users = Users({})
        self._mistake: str | None = None

    def of_token(self, token: str) -> User | None:
        return self._now().of_token(token, dt.datetime.now(dt.UTC))

    def of_login(self, name: str, sha256: str) -> User | None:
        return self._now().of_login(name, sha256, dt.datetime.now(dt.UTC))

    @property
    def mistake(self) -> str | None:
        """Why the file can't be read."""
        self._now()
        return self._mistake

    def _now(self) -> Users:
        if self._file is None:
            return self._users
        try:
            found = self._file.stat()
            state: tuple[int, ...] = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:  # reading it says why
            state = ()
        if state != self._seen:
            self._seen = state
            try:
                self._users, self._mistake = Users.read(self._file), None
            except (UsersError, OSError) as error:
                self._users, self._mistake = Users({}), str(error)
                log.error("nobody can log in: %s", error)
        return self._users
