"""Draw the bits of an id to scale, a coloured run for each field. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import cycle

from rich.text import Text

from shardflake.cli.output import utc
from shardflake.kinds import KINDS, Kind, time_of
from shardflake.layout import Field

# Black on light colours of the 256-colour cube, which terminal themes leave alone: readable on dark and on light backgrounds.
_TIME = "color(16) on color(80)"
_PARTS = ("color(16) on color(215)", "color(16) on color(149)", "color(16) on color(183)", "color(16) on color(222)")
_SIGN = "color(16) on color(248)"

_INDENT = "  "
_UNITS = (
    (timedelta(milliseconds=1), "ms", timedelta(seconds=1)),
    (timedelta(seconds=1), "s", timedelta(minutes=1)),
    (timedelta(minutes=1), "minute", timedelta(hours=1)),
    (timedelta(hours=1), "hour", timedelta(days=2)),
    (timedelta(days=1), "day", timedelta(days=730)),
    (timedelta(days=365.25), "year", timedelta.max),
)


@dataclass(frozen=True, slots=True)
class _Run:
    """The bits of one field, as digits, and the lines below them."""

    digits: str
    top: int
    style: str
    name: str
    size: str
    value: str
    range: str

    @property
    def width(self) -> int:
        """Columns that the run and its lines take; the run itself always takes one for each bit."""
        return max(map(len, (self.digits, self.ruler, self.name, self.size, self.value, self.range)))

    @property
    def ruler(self) -> str:
        """The numbers of the run's highest and lowest bits, above its ends."""
        low = str(self.top - len(self.digits) + 1)
        return str(self.top) if len(self.digits) < 5 else str(self.top) + low.rjust(len(self.digits) - len(str(self.top)))


def draw(value: int, kind: Kind = KINDS["shardflake"], columns: int | None = None) -> Text:
    """Return the bits of an id, one column for each, 64 to a block, and below each field its width, value and range.

    :param value: an id of the kind.
    :param kind: how to divide it.
    :param columns: what the terminal has: fields that do not fit go into a block below. No field is divided.
    :returns: six lines a block, 73 columns wide for shardflake and 80 at most for the other kinds; no newline at the end.
    """
    blocks = []
    for block in _fitting(_blocks(_runs(value, kind), kind.width), columns):
        blocks += [
            _line(block, lambda run: Text(run.ruler, "dim")),
            _line(block, lambda run: Text(run.digits, run.style)),
            _line(block, lambda run: Text(run.name, "bold")),
            _line(block, lambda run: Text(run.size)),
            _line(block, lambda run: Text(run.value, "bold")),
            _line(block, lambda run: Text(run.range)),
        ]
    while not blocks[-1].plain:
        del blocks[-1]
    return Text("\n").join(blocks)


def age(since: timedelta) -> str:
    """Return how long ago something was, such as "3 minutes ago", or "in 2 s" for a negative duration.

    Whole units, rounded down; days up to two years.
    """
    span = abs(since)
    unit, name, _ = next(entry for entry in _UNITS if span < entry[2])
    count = span // unit
    text = f"{count} {name}" + ("s" if count != 1 and len(name) > 2 else "")
    return f"in {text}" if since < timedelta(0) else f"{text} ago"


def _runs(value: int, kind: Kind) -> list[_Run]:
    digits, values = format(value, f"0{kind.width}b"), kind.decode(value)
    spare = kind.width - kind.bits
    runs = (
        [_Run(digits[:spare], kind.width - 1, _SIGN, "sign" if spare == 1 else "unused", _bits(spare), "", "")] if spare else []
    )
    styles, start = cycle(_PARTS), spare
    for field in kind.fields:
        text, limits = _meaning(field, values[field.name], kind)
        style = _TIME if field.name == "time" else _SIGN if field.name in kind.constants else next(styles)
        part = digits[start : start + field.bits]
        runs.append(_Run(part, kind.width - 1 - start, style, field.name, _bits(field.bits), text, limits))
        start += field.bits
    return runs


def _blocks(runs: Sequence[_Run], width: int) -> list[list[_Run]]:
    """Divide runs into blocks of 64 bits; of a run that is divided, the second half has no words of its own."""
    blocks: list[list[_Run]] = [[] for _ in range(width // 64)]
    for run in runs:
        number, bottom = (width - 1 - run.top) // 64, run.top - len(run.digits) + 1
        rest = width - 64 * (number + 1) - bottom
        if rest <= 0:
            blocks[number].append(run)
        else:
            blocks[number].append(replace(run, digits=run.digits[:-rest]))
            blocks[number + 1].append(
                _Run(run.digits[-rest:], bottom + rest - 1, run.style, f"{run.name}, continued", "", "", "")
            )
    return blocks


def _fitting(blocks: Sequence[Sequence[_Run]], columns: int | None) -> list[list[_Run]]:
    """Divide blocks that are wider than the terminal, between fields."""
    rows: list[list[_Run]] = []
    for block in blocks:
        rows.append([])
        for run in block:
            width = len(_INDENT) + sum(other.width + 1 for other in rows[-1]) + run.width
            if rows[-1] and columns is not None and width > columns:
                rows.append([])
            rows[-1].append(run)
    return rows


def _meaning(field: Field, value: int, kind: Kind) -> tuple[str, str]:
    """Return a field's value and its range in words."""
    if field.name in kind.constants:
        return str(value), "fixed"
    if field.name != "time":
        return (hex(value), f"0 to 2^{field.bits} - 1") if field.bits > 32 else (str(value), f"0 to {field.capacity - 1}")
    moments = [time_of(tick * kind.tick_ms + kind.epoch_ms) for tick in (value, 0, field.capacity - 1)]
    made, first, last = moments
    limits = f"{first:%Y-%m-%d} to {f'{last:%Y-%m-%d}' if last else 'past the year 9999'}"
    return utc(made) if made else f"{value} ms: past the year 9999", limits


def _bits(count: int) -> str:
    return f"{count} bit" + ("s" if count != 1 else "")


def _line(runs: Sequence[_Run], cell: Callable[[_Run], Text]) -> Text:
    line = Text(_INDENT)
    for run in runs:
        text = cell(run)
        line.append_text(text).append(" " * (run.width - len(text) + 1))
    line.rstrip()
    return line
