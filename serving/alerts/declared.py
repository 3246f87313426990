"""Feeds and routes as the files declare them now. The files may change while the process runs, for the worse as well."""

import logging
from collections.abc import Mapping
from pathlib import Path

from contracts.alerts import Route, load_routes
from contracts.declarations import DeclarationError
from contracts.feeds import Feed, load_feeds
from serving.alerts import secrets
from serving.declared_files import state_of

log = logging.getLogger("serving.alerts")


class Declared:
    """`feeds`, `routes`, and `secrets`: the variables that the routes name. All as last read without a mistake. `held`: what is
    wrong with the variables of a target, whose messages wait because of it."""

    def __init__(self, feeds: Path, routes: Path, env: Mapping[str, str]):
        """Raises DeclarationError listing all mistakes in the files."""
        self._folders, self._env = (feeds, routes), env
        self._seen = state_of(*self._folders)
        self._take()

    def look(self) -> None:
        """Read the files again if one has changed. With a mistake in any, all stays as it was."""
        seen = state_of(*self._folders)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._take()
            log.info("the declarations have changed: routes %s", ", ".join(self.routes) or "none")
        except (DeclarationError, OSError) as error:
            log.warning("mistakes in the declarations, the routes stay as they were: %s", "; ".join(str(error).splitlines()))

    def _take(self) -> None:
        feeds, routes = self._folders
        found_feeds, found = load_feeds(feeds), load_routes(routes)
        self.feeds: dict[str, Feed] = found_feeds
        self.routes: dict[str, Route] = found
        self.secrets = secrets.environment(found, self._env)
        self.held = secrets.mistakes(found, self.secrets)
        for what in self.held:
            log.warning("%s; its messages wait until alerts is started with the right variables", what)
