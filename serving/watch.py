"""What looks at something again and again, in a thread of its own."""

import logging

from serving.long_lived import LAKE_PATIENCE, LongLived

log = logging.getLogger("serving.watch")


class Watch:
    """Looks, and looks again after `every` seconds. A look that fails is logged, and followed by the next."""

    def __init__(self, name: str, every: float):
        self._name, self._every = name, every
        self.thread = LongLived(name, self._run, LAKE_PATIENCE)

    def look(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.thread.stop()

    def _run(self) -> None:
        failed = ""
        while not self.thread.ending.is_set():
            self.thread.turns()
            try:
                self.look()
                failed = ""
            except Exception as error:
                if failed != str(error):  # else it is known already
                    log.exception("%s: a look failed; trying again", self._name)
                failed = str(error)
            self.thread.ending.wait(self._every)
