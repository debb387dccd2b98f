"""The key types that are compared: data, and for keys made beforehand one function each.

To add one, append a :class:`Contender` to :data:`CONTENDERS`, or name it on the command line: ``NAME=TYPE:EXPRESSION``.
Expressions are SQL, with objects of the scratch schemas by their full names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardflake.bench.keys import Keys, Stream

SCRATCH = "shardflake_bench"
"""The schema that a run works in; copies of generators lie in schemas of their own, with this name before theirs."""

BASELINE = "bigserial"
TYPES = {"bigint": (8, "bigint"), "uuid": (16, "uuid"), "text": (0, 'text collate "C"')}
"""Width of a key in bytes (0: as long as its text) and how the column is declared, by the name of the type."""


def _made(name: str, **arguments: Any) -> Callable[[Stream], Keys]:
    """Return a maker of :mod:`shardflake.bench.keys`, which is not imported before it is used: it needs numpy."""

    def make(stream: Stream) -> Keys:
        from shardflake.bench import keys

        maker = getattr(keys, name)
        result: Keys = maker(**arguments)(stream) if arguments else maker(stream)
        return result

    return make


@dataclass(frozen=True, slots=True)
class Contender:
    """A key type.

    :param name: stands in results and on the command line.
    :param label: stands in reports.
    :param type: a name in :data:`TYPES`.
    :param default: SQL expression that makes a key on the server; the server must be ``since`` or newer.
    :param keys: makes keys beforehand; without it they are drawn from ``default``.
    :param width: bytes of a key without its length byte.
    :param setup: statements that make what ``default`` needs, before each table; :data:`SCRATCH` is dropped between runs.
    :param schema: scratch schema that ``default`` needs, and that the server may not have been able to take.
    :param ordered: whether keys follow time closely enough to delete the oldest by a range.
    :param unique: whether ``id`` is a primary key; False where duplicates are to be counted, not refused.
    :param control: why it is there although nobody should use it.
    """

    name: str
    label: str
    type: str
    default: str
    keys: Callable[[Stream], Keys] | None = None
    width: int = 8
    setup: Sequence[str] = ()
    schema: str | None = None
    ordered: bool = True
    unique: bool = True
    since: int = 150000
    control: str | None = None
    note: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the contender's entry in the header of results."""
        return {
            "name": self.name,
            "label": self.label,
            "type": self.type,
            "width_bytes": self.width,
            "kind": "keys" if self.keys else "generator",
            "baseline": self.name == BASELINE,
            "control": self.control,
            "note": self.note,
            "default": self.default,
        }

    @property
    def item_width(self) -> int:
        """Bytes of a key in an index entry, a text's length byte included."""
        return self.width + (1 if self.type == "text" else 0)

    @property
    def declared(self) -> str:
        """The type as a column is declared."""
        return TYPES[self.type][1]


def _bigserial(name: str, label: str, cache: int, keys: Callable[[Stream], Keys], note: str) -> Contender:
    setup = (f"create sequence {SCRATCH}.ids cache {cache}",)
    return Contender(name, label, "bigint", f"nextval('{SCRATCH}.ids')", keys, setup=setup, note=note)


def _copy(name: str, label: str, keys: Callable[[Stream], Keys], note: str) -> Contender:
    schema = f"{SCRATCH}_{name}"
    return Contender(name, label, "bigint", f"{schema}.next_id()", keys, schema=schema, note=note)


_ASCENDING = _made("ascending")
_UUIDV7_NOTE = "built into PostgreSQL 18; a SQL function of the benchmark's own before"

CONTENDERS: tuple[Contender, ...] = (
    _bigserial(BASELINE, "bigserial", 1, _ASCENDING, "the baseline: ratios are to it"),
    _bigserial(f"{BASELINE}-aa", "bigserial A/A", 1, _ASCENDING, "bigserial again: how far apart two equal things come out"),
    _bigserial("bigserial-cache32", "bigserial CACHE 32", 32, _made("leased", block=32), "keys for 8 sessions"),
    _copy("shardflake", "shardflake", _made("layout", counter_bits=10, node_bits=13), "time 40, shard 13, counter 10 bits"),
    Contender(
        "instagram",
        "Instagram",
        "bigint",
        f"{SCRATCH}_instagram.next_id()",
        _made("instagram"),
        schema=f"{SCRATCH}_instagram",
        unique=False,
        control="its duplicates are counted, not refused: its index is not unique",
    ),
    _copy("twitter", "Twitter layout", _made("layout", counter_bits=12, node_bits=10), "time 41, worker 10, counter 12 bits"),
    _copy(
        "sonyflake",
        "Sonyflake layout",
        _made("layout", counter_bits=8, node_bits=16, tick_ms=10, node_last=True),
        "time 39 in 10 ms, counter 8, machine 16 bits: 25 ids a millisecond",
    ),
    Contender(
        "tickets",
        "ticket blocks",
        "bigint",
        f"{SCRATCH}.ticket()",
        _made("leased", block=1000),
        note="blocks of 1,000 that each session leases from one table; keys for 8 sessions",
    ),
    Contender("uuidv4", "UUIDv4", "uuid", "gen_random_uuid()", _made("uuidv4"), 16, ordered=False),
    Contender("uuidv7", "UUIDv7", "uuid", f"{SCRATCH}.uuid7()", _made("uuidv7"), 16, note=_UUIDV7_NOTE),
    Contender(
        "uuidv7-ms",
        "UUIDv7, ms only",
        "uuid",
        f"{SCRATCH}.uuid7_ms()",
        _made("uuidv7_ms"),
        16,
        note="in no order within a millisecond; made by a SQL function of the benchmark's own",
    ),
    Contender("ulid-uuid", "ULID as uuid", "uuid", f"{SCRATCH}.ulid()", _made("ulid"), 16, note="SQL function of our own"),
    Contender(
        "ulid-text", "ULID as text", "text", f"{SCRATCH}.ulid_text()", _made("ulid_text"), 26, note="SQL function of our own"
    ),
    Contender(
        "uuid-text",
        "UUIDv4 as text",
        "text",
        "gen_random_uuid()::text",
        _made("uuid_text"),
        36,
        ordered=False,
        control="the known mistake",
    ),
)


def parse(text: str) -> Contender:
    """Return the contender that ``NAME=TYPE:EXPRESSION`` describes.

    :raises ValueError: not of that form, an unknown type, or a name that is taken.
    """
    found = re.fullmatch(r"([a-z][a-z0-9_-]*)=(\w+):(.+)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{text!r} is not NAME=TYPE:EXPRESSION, such as mine=uuid:gen_random_uuid()")
    name, kind, expression = found.groups()
    if kind not in TYPES:
        raise ValueError(f"type {kind!r} of {name} is not one of {', '.join(TYPES)}")
    if name in {contender.name for contender in CONTENDERS}:
        raise ValueError(f"{name!r} is a contender already; give yours another name")
    return Contender(name, name, kind, expression, width=TYPES[kind][0], note=f"given on the command line: {expression}")


def select(wanted: Iterable[str], known: Sequence[Contender] = CONTENDERS) -> list[Contender]:
    """Return contenders by name, new ones for ``NAME=TYPE:EXPRESSION``, the baseline and its twin always.

    :param wanted: names or descriptions; only descriptions, or nothing: they join all known ones.
    :raises ValueError: an unknown name; the message lists the known ones.
    """
    wanted = list(wanted)
    added = [parse(text) for text in wanted if "=" in text]
    names = {text for text in wanted if "=" not in text}
    if unknown := sorted(names - {contender.name for contender in known}):
        raise ValueError(f"unknown contender {', '.join(unknown)}; known: {', '.join(each.name for each in known)}")
    names |= {BASELINE, f"{BASELINE}-aa"} if names else {contender.name for contender in known}
    return [contender for contender in known if contender.name in names] + added


def recorded(descriptions: Sequence[dict[str, Any]]) -> list[Contender]:
    """Return the contenders of a run from the header of its results."""
    known = {contender.name: contender for contender in CONTENDERS}
    return [known.get(each["name"]) or parse(f"{each['name']}={each['type']}:{each['default']}") for each in descriptions]
