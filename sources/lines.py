"""Files of lines for a topic of text, plain or .gz: each line a record as it stands, under the file's name as its key, with the
headers `file` and `line` (its number in the file). Such a file may grow."""

import gzip
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sources.capture import CaptureError
from sources.records import Record

POLL = 0.5  # seconds between two looks at a file that may have grown


@dataclass(frozen=True)
class LineFile:
    """follow: go on with what is added, until one is stopped."""

    path: Path
    follow: bool = False

    def __post_init__(self):
        if not self.path.is_file():
            raise CaptureError(f"{self.path}: no such file")
        if self.follow and self._zipped:
            raise CaptureError(f"{self.path}: --follow is for a file that grows, and a .gz does not")

    @property
    def _zipped(self) -> bool:
        return self.path.name.endswith(".gz")

    def records(self, stop: threading.Event) -> Iterator[Record]:
        """In the file's order."""
        for number, line in self._followed(stop) if self.follow else self._whole():
            headers = (("file", self.path.name.encode()), ("line", str(number).encode()))
            yield Record(number, self.path.name, line.rstrip(b"\r\n"), headers)

    def _whole(self) -> Iterator[tuple[int, bytes]]:
        try:
            with gzip.open(self.path) if self._zipped else self.path.open("rb") as file:
                yield from enumerate(file, 1)
        except (OSError, EOFError) as error:
            raise CaptureError(f"{self.path}: {error}") from error

    def _followed(self, stop: threading.Event) -> Iterator[tuple[int, bytes]]:
        """A line that has no end yet waits for it. A file in whose place there is another (rotation) is read on until nothing
        more comes, then the other is read; one that got shorter (truncation) is read from its beginning."""
        replaced = True
        while replaced:
            with self.path.open("rb") as file:
                number, begun, replaced = 0, b"", False
                while True:
                    before = number
                    for piece in iter(file.readline, b""):
                        begun += piece
                        if begun.endswith(b"\n"):
                            number += 1
                            yield number, begun
                            begun = b""
                    if replaced and number == before:
                        break
                    if stop.wait(POLL):
                        return
                    replaced = self._is_another(file)
                    if not replaced and os.fstat(file.fileno()).st_size < file.tell():
                        file.seek(0)
                        number, begun = 0, b""
                if begun:  # no process writes to it any more
                    yield number + 1, begun

    def _is_another(self, file: BinaryIO) -> bool:
        """Another file has the name by now. While none has it, the old one is read on."""
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False
