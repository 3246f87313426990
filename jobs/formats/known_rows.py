"""What nights knew of feeds, in files beside a query's checkpoint: the driver writes them, and executors read them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class KnownRows:
    """The rows of each feed. how: by the feed's table, a digest of what the numbers in a state mean now."""

    folder: str
    how: Mapping[str, str]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Those that are kept of this meaning; none where no night had any."""
        file = self._file(table)
        return pa.ipc.open_file(file.read_bytes()).read_all().to_pylist() if file.exists() else []

    def keep(self, table: str, rows: pa.Table | None) -> None:
        """Readers see all rows or none."""
        file = self._file(table)
        shutil.rmtree(file.parent, ignore_errors=True)
        if rows is not None:
            file.parent.mkdir(parents=True)
            unfinished = file.with_suffix(".new")
            with pa.OSFile(str(unfinished), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
            unfinished.replace(file)

    def _file(self, table: str) -> Path:
        return Path(self.folder) / table / f"{self.how[table]}.arrow"
