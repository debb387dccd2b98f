"""Write the raw results of a run: one record a line, flushed at once, so that a cut loses one line at most."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shardflake.bench.storage import FILE, FORMAT
from shardflake.errors import ResultsError

Record = dict[str, Any]
Emit = Callable[[Record], None]


class Store:
    """The file ``results.ndjson`` of a run, opened for appending.

    :param directory: of the run; made if it is not there.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / FILE
        self._file = self.path.open("a", encoding="utf-8")

    @staticmethod
    def refuse_existing(directory: Path) -> None:
        """Check that a directory holds no run.

        :raises ResultsError: it holds one.
        """
        if (directory / FILE).exists():
            raise ResultsError(f"{directory} holds results already; take another directory, or --resume {directory}")

    @classmethod
    def create(cls, directory: Path, header: Record) -> Store:
        """Start a run in a directory that holds none yet."""
        cls.refuse_existing(directory)
        store = cls(directory)
        store.write({"kind": "header", "format": FORMAT, **header})
        return store

    @classmethod
    def resume(cls, directory: Path) -> tuple[Store, Record, set[tuple[str, int]]]:
        """Open a run that was cut.

        :returns: the store, the header, and (workload, block) of the blocks that were completed.
        :raises ResultsError: there is no such run, it is of another format, or it got to its end.
        """
        path = directory / FILE
        records, whole = _records(path)
        if any(record["kind"] == "end" for record in records):
            raise ResultsError(f"the run in {directory} got to its end; there is nothing to resume")
        with path.open("r+b") as file:
            file.truncate(whole)
        done = {(record["workload"], record["block"]) for record in records if record["kind"] == "block"}
        return cls(directory), records[0], done

    def write(self, record: Record) -> None:
        """Append a record."""
        self._file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def header_of(directory: Path) -> Record:
    """Return the header of a run.

    :raises ResultsError: there is none.
    """
    return _records(directory / FILE)[0][0]


def _records(path: Path) -> tuple[list[Record], int]:
    """Return the whole records of a file, and how many bytes they take: a last line that was cut is left out."""
    try:
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        records = [json.loads(line) for line in whole.splitlines()]
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read: {error}; there is nothing to resume") from error
    if not records or records[0].get("kind") != "header" or records[0].get("format") != FORMAT:
        raise ResultsError(f"{path} does not start with a header of format {FORMAT}; start a new run")
    return records, len(whole)
