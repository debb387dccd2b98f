"""Read ``shards.toml``, the list of the fleet's shards.

::

    registry = "service=registry"           # optional: the database that hands out shard ids

    [[shard]]
    name = "orders-0"
    url = "postgresql://app@db0/orders"     # or: service = "orders0"; passwords come from ~/.pgpass or PGPASSWORD
    shard_id = 0                            # or: "env:POD_INDEX"
    logical_shards = [100, "200-299"]       # optional: further shard ids that it issues
    backfill_shards = [900]                 # optional: shard ids that it reserves for imported rows
    tags = ["eu"]                           # optional

Nothing is connected to, and nothing but :class:`~shardflake.errors.FleetFileError` is raised, whatever the file holds.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from shardflake.connect import conninfo
from shardflake.errors import ConnectionFailedError, FleetFileError
from shardflake.layout import SHARDFLAKE

MAX_SHARD_ID = next(part.capacity for part in SHARDFLAKE.fields if part.name == "shard") - 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")
_KEYS = ("name", "url", "service", "shard_id", "logical_shards", "backfill_shards", "tags")


@dataclass(frozen=True, slots=True)
class Shard:
    """A database of the fleet.

    :param name: for people, unique in the fleet.
    :param conninfo: libpq keyword string; may hold a password, so that it is not shown.
    :param shard_id: 0 to 8191, the id that the database shall have; None leaves it to the database or the registry.
    :param logical_shards: further ids that it shall issue, ascending.
    :param backfill_shards: ids that it reserves for imported rows, ascending.
    :param tags: for selecting shards.
    """

    name: str
    conninfo: str = field(repr=False)
    shard_id: int | None = None
    logical_shards: tuple[int, ...] = ()
    backfill_shards: tuple[int, ...] = ()
    tags: frozenset[str] = frozenset()

    @property
    def shard_ids(self) -> tuple[int, ...]:
        """Every shard id that ids in this database's rows may have, by the file."""
        return (*(() if self.shard_id is None else (self.shard_id,)), *self.logical_shards, *self.backfill_shards)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What the file says.

    :param shards: in the order of the file.
    :param registry: libpq keyword string of the registry's database, if there is one.
    :param warnings: for people, with line numbers.
    :param others: shards of the file that were not chosen, by a tag.
    """

    shards: tuple[Shard, ...]
    registry: str | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()
    others: tuple[Shard, ...] = ()

    def __getitem__(self, name: str) -> Shard:
        """Return a shard by its name.

        :raises FleetFileError: if the file has none of that name.
        """
        for shard in self.shards:
            if shard.name == name:
                return shard
        known = ", ".join(shard.name for shard in self.shards[:10]) + (", ..." if len(self.shards) > 10 else "")
        raise FleetFileError(f"no shard is named {name!r}; the file has {known}")

    def tagged(self, tag: str) -> Fleet:
        """Return the fleet with only the shards that have a tag.

        :raises FleetFileError: if none has it.
        """
        chosen = tuple(shard for shard in self.shards if tag in shard.tags)
        if not chosen:
            tags = ", ".join(sorted({tag for shard in self.shards for tag in shard.tags})) or "no tags at all"
            raise FleetFileError(f"no shard has the tag {tag!r}; the file has {tags}")
        others = tuple(shard for shard in self.shards if tag not in shard.tags)
        return Fleet(chosen, self.registry, self.warnings, others)


def read(path: Path, environment: Mapping[str, str] = os.environ) -> Fleet:
    """Read a fleet's file.

    :param path: of the TOML file.
    :param environment: where ``env:NAME`` looks.
    :raises FleetFileError: for everything that is wrong at once, each with its line.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        raise FleetFileError(f"cannot read {path}: {error}") from error
    return parse(text, str(path), environment)


def parse(text: str, name: str = "shards.toml", environment: Mapping[str, str] = os.environ) -> Fleet:
    """Return what the text of a fleet's file says; otherwise as :func:`read`.

    :param name: of the file, for messages.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number or nesting without end
        raise FleetFileError(f"{name} is not TOML: {error or 'nested too deeply'}") from error
    reader = _Reader(_Lines(text), environment)
    fleet = reader.fleet(document)
    if reader.problems:
        problems = [f"{name}:{line}: {problem}" for line, problem in sorted(reader.problems)]
        raise FleetFileError("\n".join(problems))
    return Fleet(fleet.shards, fleet.registry, tuple(f"{name}:{line}: {text}" for line, text in sorted(reader.warnings)))


class _Lines:
    """Finds the line, from 1, of a shard and of its keys; of the nearest header if the key is written in another way."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._multiline = '"""' in text or "'''" in text
        self._shards = [
            number for number in self._matching(r"\s*\[\[\s*[\"']?shard[\"']?\s*\]\]") if self._outside_text(number)
        ]

    def shard(self, index: int, key: str = "") -> int:
        """Return the line of a key of the shard with this index, else of its header."""
        if index >= len(self._shards):  # written as shard = [{...}]
            return self.top("shard")
        start = self._shards[index]
        end = self._shards[index + 1] if index + 1 < len(self._shards) else len(self._lines)
        found = self._matching(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", start, end) if key else []
        return (found[0] if found else start) + 1

    def top(self, key: str) -> int:
        """Return the line of a key that stands before the first shard."""
        found = self._matching(rf"\s*\[?\[?\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
        return (found[0] if found else 0) + 1

    def _matching(self, pattern: str, start: int = 0, end: int | None = None) -> list[int]:
        expression = re.compile(pattern)
        end = len(self._lines) if end is None else end
        return [number for number in range(start, end) if expression.match(self._lines[number])]

    def _outside_text(self, number: int) -> bool:
        """Say whether a line begins outside of a text that spans lines: only then do those before it parse."""
        if not self._multiline:
            return True
        try:
            tomllib.loads("\n".join(self._lines[:number]))
        except (ValueError, RecursionError):
            return False
        return True


class _Reader:
    """Turns the parsed document into shards, and collects what is wrong with it."""

    def __init__(self, lines: _Lines, environment: Mapping[str, str]) -> None:
        self.problems: list[tuple[int, str]] = []
        self.warnings: list[tuple[int, str]] = []
        self._lines = lines
        self._environment = environment
        self._names: dict[str, int] = {}
        self._ids: dict[int, str] = {}

    def fleet(self, document: Mapping[str, Any]) -> Fleet:
        for key in document.keys() - {"shard", "registry"}:
            self.problems.append((self._lines.top(key), f"unknown key {key!r}; allowed are registry and [[shard]]"))
        registry = None
        if "registry" in document:
            registry = self._database(document["registry"], self._lines.top("registry"))
        entries = document.get("shard", [])
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            self.problems.append((self._lines.top("shard"), "no shards; give each a table [[shard]] with a name and a url"))
            entries = []
        return Fleet(tuple(self._shard(index, entry) for index, entry in enumerate(entries)), registry)

    def _shard(self, index: int, entry: Mapping[str, Any]) -> Shard:
        def line(key: str = "") -> int:
            return self._lines.shard(index, key)

        for key in sorted(entry.keys() - set(_KEYS)):
            self.problems.append((line(key), f"unknown key {key!r}; a shard has {', '.join(_KEYS)}"))
        name = self._name(entry, line)
        target = self._target(entry, line)
        logical, backfill = (self._numbers(key, entry.get(key, []), line(key)) for key in ("logical_shards", "backfill_shards"))
        own = self._shard_id(entry["shard_id"], line("shard_id")) if "shard_id" in entry else (logical[0] if logical else None)
        logical = [number for number in logical if number != own]
        keys = dict.fromkeys(logical, "logical_shards")
        if own is not None:
            keys = {own: "shard_id" if "shard_id" in entry else "logical_shards"} | keys
        if both := [number for number in backfill if number in keys]:
            self.problems.append((line("backfill_shards"), f"shard id {both[0]} of {name!r} is not for imported rows alone"))
        for number, key in (keys | dict.fromkeys(backfill, "backfill_shards")).items():
            if (holder := self._ids.setdefault(number, name)) != name:
                self.problems.append((line(key), f"shard id {number} of {name!r} is also that of {holder!r}"))
        tags = entry.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
            self.problems.append((line("tags"), f"tags {tags!r} is not a list of words"))
            tags = []
        return Shard(name, target, own, tuple(logical), tuple(backfill), frozenset(tags))

    def _name(self, entry: Mapping[str, Any], line: Callable[[str], int]) -> str:
        name = entry.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            what = "a shard has no name" if name is None else f"name {name!r} is not a name"
            self.problems.append((line("name"), f"{what}; give 1 to 63 letters, digits, dots, dashes or underscores"))
            return f"line {line('')}"
        if name in self._names:
            self.problems.append((line("name"), f"name {name!r} is also that of line {self._names[name]}"))
            return f"line {line('')}"
        self._names[name] = line("")
        return name

    def _target(self, entry: Mapping[str, Any], line: Callable[[str], int]) -> str:
        given = [key for key in ("url", "service") if key in entry]
        if len(given) != 1:
            self.problems.append((line(given[0] if given else ""), "a shard needs one of url and service"))
            return ""
        (key,) = given
        if key == "url":
            return self._database(entry["url"], line("url"))
        service = self._text(entry["service"], line("service"))
        return self._database(f"service={service}", line("service")) if service else ""

    def _database(self, value: Any, line: int) -> str:
        text = self._text(value, line)
        if not text:
            return ""
        try:
            target = conninfo(text)
        except ConnectionFailedError as error:
            self.problems.append((line, str(error)))
            return ""
        if text == value and conninfo_to_dict(target).get("password"):
            self.warnings.append((line, "the URL holds a password; put it into ~/.pgpass or a service file, or use env:NAME"))
        return target

    def _text(self, value: Any, line: int) -> str:
        """Return a text, from the environment if it says so; '' after noting a problem."""
        if not isinstance(value, str) or not value.strip():
            self.problems.append((line, f"{value!r} is not a text; give one in quotes, or 'env:NAME'"))
            return ""
        if not value.startswith("env:"):
            return value
        found = _ENVIRONMENT.fullmatch(value)
        text = self._environment.get(found[1], "") if found else ""
        if not text:
            self.problems.append((line, f"{value!r}: the environment has no such variable, or it is empty"))
        return text

    def _shard_id(self, value: Any, line: int) -> int | None:
        if isinstance(value, str) and value.startswith("env:"):
            text = self._text(value, line)
            if not text:
                return None
            # a StatefulSet's pod knows its ordinal as a number, or as the end of its host name
            ordinal = re.fullmatch(r"(?:[a-z0-9][a-z0-9.-]*-)?([0-9]{1,9})", text)
            number: Any = int(ordinal[1]) if ordinal else text
        else:
            number = value
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_SHARD_ID:
            source = f" from {value!r}" if number is not value else ""
            self.problems.append((line, f"shard id {_short(number)}{source} is not an integer from 0 to {MAX_SHARD_ID}"))
            return None
        return number

    def _numbers(self, key: str, value: Any, line: int) -> list[int]:
        try:
            return numbers(value)
        except ValueError as error:
            self.problems.append((line, f"{key}: {error}"))
            return []


def numbers(value: Any) -> list[int]:
    """Return shard ids, ascending, without repeats.

    :param value: a list of integers and of ranges such as ``"200-299"``, both ends included.
    :raises ValueError: for anything else, or an id that is not 0 to 8191.
    """
    if not isinstance(value, list):
        raise ValueError(f"{_short(value)} is not a list such as [100, '200-299']")
    found: set[int] = set()
    for entry in value:
        first, last = _range(entry)
        if not 0 <= first <= last <= MAX_SHARD_ID:
            raise ValueError(
                f"{_short(entry)} is not an integer from 0 to {MAX_SHARD_ID}, nor a range of them such as '200-299'"
            )
        found.update(range(first, last + 1))
    return sorted(found)


def _range(entry: Any) -> tuple[int, int]:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry, entry
    parts = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", entry) if isinstance(entry, str) else None
    return (int(parts[1]), int(parts[2] or parts[1])) if parts else (-1, -1)


def ranges(values: tuple[int, ...] | list[int]) -> Iterator[str]:
    """Give ascending numbers in short, such as "5" and "7-9"."""
    start = previous = None
    for value in [*values, None]:
        if start is not None and previous is not None and (value is None or value != previous + 1):
            yield str(start) if start == previous else f"{start}-{previous}"
            start = None
        start = value if start is None else start
        previous = value


def _short(value: Any) -> str:
    """Return a value for a message: a number may have thousands of digits, more than Python converts."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "with too many digits"
    text = repr(value) if not isinstance(value, (list, dict)) else type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
