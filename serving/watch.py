"""What looks at something again and again, in a thread of its own."""

import logging
import threading

log = logging.getLogger("serving.watch")


class Watch:
    """Looks, and looks again after `every` seconds. A look that fails is logged, and followed by the next."""

    def __init__(self, name: str, every: float):
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def look(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        failed = ""
        while not self._stop.is_set():
            try:
                self.look()
                failed = ""
            except Exception as error:
                if failed != str(error):  # else it is known already
                    log.exception("%s: a look failed; trying again", self._thread.name)
                failed = str(error)
            self._stop.wait(self._every)
