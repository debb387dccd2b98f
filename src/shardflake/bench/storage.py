"""Read the raw results of ``shardflake bench``: a stream of records, one JSON object a line, however many there are.

A file holds its format's version in the first line. It may end in the middle of a line, as a run that was killed leaves it.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shardflake.errors import ResultsError

FORMAT = 1
FILE = "results.ndjson"
_REMEMBERED = 100_000
"""How many kinds of sample lines are recognised without parsing; far more than a run has."""

Params = tuple[tuple[str, Any], ...]
"""What tells the cases of a workload apart: names and values, sorted by name."""


@dataclass(frozen=True, slots=True)
class Key:
    """What was measured."""

    workload: str
    contender: str
    metric: str
    params: Params = ()


@dataclass(frozen=True, slots=True)
class Contender:
    """A kind of key, as the run describes it."""

    name: str
    label: str
    width: int | None = None
    note: str = ""
    control: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A series, histogram, heatmap, prediction or finding: where it belongs, and its own fields."""

    workload: str
    contender: str
    params: Params
    block: int | None
    fields: dict[str, Any]


@dataclass(slots=True)
class Results:
    """A run: its surroundings, and what was measured, averaged within each block.

    :param header: the first line.
    :param values: value by block of everything that was sampled.
    :param units: by metric.
    :param warnings: what a reader must be told: of the run, and of the file.
    :param samples: how many there were.
    :param ended: whether the run got to its end.
    """

    header: dict[str, Any]
    contenders: dict[str, Contender]
    baseline: str
    values: dict[Key, dict[int, float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    series: list[Record] = field(default_factory=list)
    histograms: list[Record] = field(default_factory=list)
    heatmaps: list[Record] = field(default_factory=list)
    physics: list[Record] = field(default_factory=list)
    findings: list[Record] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    samples: int = 0
    ended: bool = False
    seconds: float | None = None

    @property
    def twin(self) -> str:
        """The baseline's A/A twin."""
        return f"{self.baseline}-aa"

    def label(self, contender: str) -> str:
        """Return the name that tables show."""
        known = self.contenders.get(contender)
        return known.label if known else contender

    def order(self, contender: str) -> tuple[int, str]:
        """Return what sorts contenders as the run lists them; unlisted ones last, by name."""
        names = list(self.contenders)
        return (names.index(contender) if contender in self.contenders else len(names), contender)

    def of(self, workload: str, metric: str) -> Iterator[tuple[Key, dict[int, float]]]:
        """Yield what was sampled of a metric in a workload."""
        return ((key, blocks) for key, blocks in self.values.items() if (key.workload, key.metric) == (workload, metric))


def frozen(params: dict[str, Any]) -> Params:
    """Return params as a sorted tuple."""
    return tuple(sorted(params.items()))


def read(directory: Path) -> Results:
    """Return the results kept in a directory.

    :raises ResultsError: there are none, they have another format, or a line other than the last is broken.
    """
    path = directory / FILE
    try:
        with path.open("rb") as lines:
            return _Reader(path).read(lines)
    except OSError as error:
        raise ResultsError(
            f"{path} cannot be read: {error.strerror}; give the directory that `shardflake bench run` wrote"
        ) from error


class _Reader:
    """Takes records one by one; samples are added up, so that memory does not grow with their number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sums: dict[Key, dict[int, list[float]]] = defaultdict(dict)
        self._complete: dict[tuple[str, int], list[Params]] = defaultdict(list)
        self._known: dict[tuple[bytes, bytes], list[float]] = {}
        self._results: Results
        self._quick = 0

    def read(self, lines: Iterable[bytes]) -> Results:
        source = enumerate(lines, 1)
        _, first = next(source, (1, b""))
        self._results = self._header(first)
        broken: int | None = None
        for number, line in source:
            if self._add_again(line) or not line.strip():
                continue
            record = _parse(line)
            if broken is not None and not (record and record.get("kind") == "note" and record.get("resumed")):
                raise ResultsError(f"{self._path}, line {broken}, is not a record; only the last line of a run may be cut")
            if record is None:
                broken = number
                continue
            broken = None
            try:
                self._take(record, line)
            except (KeyError, TypeError, ValueError) as error:
                raise ResultsError(f"{self._path}, line {number}: {type(error).__name__} {error} in {line[:200]!r}") from error
        if broken is not None:
            self._results.warnings.append(f"The last line, {broken}, is cut: the run was ended while it wrote. It is left out.")
        return self._finish()

    def _header(self, line: bytes) -> Results:
        header = _parse(line)
        if header is None or header.get("kind") != "header":
            raise ResultsError(f"{self._path} does not start with a header: it holds no results of `shardflake bench run`")
        if header.get("format") != FORMAT:
            raise ResultsError(
                f"{self._path} has format {header.get('format')!r}, this version reads {FORMAT}; "
                "draw it with the version of shardflake that measured it"
            )
        try:
            contenders = {
                each["name"]: Contender(
                    each["name"], each["label"], each.get("width_bytes"), each.get("note") or "", each.get("control")
                )
                for each in header["contenders"]
            }
            baseline = next((each["name"] for each in header["contenders"] if each.get("baseline")), "bigserial")
        except (KeyError, TypeError) as error:
            raise ResultsError(f"{self._path}: the header lacks {error}") from error
        return Results(header, contenders, baseline, warnings=list(header.get("warnings", ())))

    def _add_again(self, line: bytes) -> bool:
        """Add a sample whose line is that of an earlier one but for the number; say whether it was one."""
        head, _, tail = line.partition(b'"value":')
        number, _, rest = tail.partition(b",")
        sums = self._known.get((head, rest))
        if sums is None:
            return False
        try:
            value = float(number)
        except ValueError:
            return False
        if not math.isfinite(value):
            return False
        sums[0] += 1
        sums[1] += value
        self._quick += 1
        return True

    def _take(self, record: dict[str, Any], line: bytes) -> None:
        match record["kind"]:
            case "sample":
                self._take_sample(record, line)
            case "block":
                self._complete[record["workload"], record["block"]].append(frozen(record.get("params") or {}))
            case "series" | "histogram" | "heatmap" | "physics" | "finding" as kind:
                self._take_record(kind, record)
            case "note":
                if record.get("resumed"):
                    self._drop_incomplete()
                self._results.notes.append(record["text"])
            case "end":
                self._results.ended = True
                self._results.seconds = record.get("seconds")
            case unknown:
                raise ValueError(f"unknown kind {unknown!r}")

    def _take_sample(self, record: dict[str, Any], line: bytes) -> None:
        value = float(record["value"])
        if not math.isfinite(value):
            raise ValueError(f"{value} is no measurement")
        key = Key(record["workload"], record["contender"], record["metric"], frozen(record.get("params") or {}))
        sums = self._sums[key].setdefault(record["block"], [0, 0.0])
        sums[0] += 1
        sums[1] += value
        self._results.units[record["metric"]] = record["unit"]
        self._results.samples += 1
        head, _, tail = line.partition(b'"value":')
        number, comma, rest = tail.partition(b",")
        if comma and _parse(number) == record["value"] and len(self._known) < _REMEMBERED:
            self._known[head, rest] = sums

    def _take_record(self, kind: str, record: dict[str, Any]) -> None:
        places = ("kind", "workload", "contender", "params", "block")
        made = Record(
            record.get("workload", ""),
            record["contender"],
            frozen(record.get("params") or {}),
            record.get("block"),
            {name: value for name, value in record.items() if name not in places},
        )
        target: dict[str, list[Record]] = {
            "series": self._results.series,
            "histogram": self._results.histograms,
            "heatmap": self._results.heatmaps,
            "physics": self._results.physics,
            "finding": self._results.findings,
        }
        if kind in ("heatmap", "physics"):  # measured once: what a resumed run measured again replaces the first
            identity = (made.workload, made.contender, made.params, made.fields.get("quantity"))
            target[kind][:] = [
                each
                for each in target[kind]
                if (each.workload, each.contender, each.params, each.fields.get("quantity")) != identity
            ]
        target[kind].append(made)

    def _drop_incomplete(self) -> None:
        """Forget what belongs to blocks that were not finished: the run that goes on measures them again."""
        self._known.clear()
        for key in list(self._sums):
            blocks = self._sums[key]
            for block in [block for block in blocks if not self._is_complete(key.workload, block, key.params)]:
                del blocks[block]
            if not blocks:
                del self._sums[key]
        for records in (self._results.series, self._results.histograms, self._results.findings):
            records[:] = [
                each for each in records if each.block is None or self._is_complete(each.workload, each.block, each.params)
            ]

    def _is_complete(self, workload: str, block: int, params: Params) -> bool:
        return any(set(done) <= set(params) for done in self._complete[workload, block])

    def _finish(self) -> Results:
        results = self._results
        results.samples += self._quick
        results.values = {
            key: {block: total / count for block, (count, total) in blocks.items()} for key, blocks in self._sums.items()
        }
        if not results.ended:
            results.warnings.append("The run did not get to its end: what it had measured by then is shown.")
        return results


def _parse(line: bytes) -> Any:
    """Return a line's value, None if it is not JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None
