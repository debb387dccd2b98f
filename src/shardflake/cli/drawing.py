"""Draw the bits of an id to scale, a coloured run for each field. Pure: values in, text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rich.text import Text

from shardflake.cli.output import utc
from shardflake.layout import SHARDFLAKE, Field, Layout

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


def draw(value: int, layout: Layout = SHARDFLAKE) -> Text:
    """Return the 64 bits of an id, one column for each, and below each field its width, value and range.

    :param value: an id, 0 to 2**63 - 1.
    :param layout: how to divide it.
    :returns: six lines, 73 columns wide for the layout SHARDFLAKE; no newline at the end.
    """
    runs = _runs(value, layout)
    lines = [
        _line(runs, lambda run: Text(run.ruler, "dim")),
        _line(runs, lambda run: Text(run.digits, run.style)),
        _line(runs, lambda run: Text(run.name, "bold")),
        _line(runs, lambda run: Text(run.size)),
        _line(runs, lambda run: Text(run.value, "bold")),
        _line(runs, lambda run: Text(run.range)),
    ]
    return Text("\n").join(lines)


def age(since: timedelta) -> str:
    """Return how long ago something was, such as "3 minutes ago", or "in 2 s" for a negative duration.

    Whole units, rounded down; days up to two years.
    """
    span = abs(since)
    unit, name, _ = next(entry for entry in _UNITS if span < entry[2])
    count = span // unit
    text = f"{count} {name}" + ("s" if count != 1 and len(name) > 2 else "")
    return f"in {text}" if since < timedelta(0) else f"{text} ago"


def _runs(value: int, layout: Layout) -> list[_Run]:
    digits, fields = format(value, "064b"), layout.decode(value)
    spare = 64 - sum(field.bits for field in layout.fields)
    runs = [_Run(digits[:spare], 63, _SIGN, "sign", _bits(spare), "", "")]
    styles = iter(_PARTS)
    for field in layout.fields:
        start = 64 - layout.shifts[field.name] - field.bits
        text, limits = _meaning(field, fields[field.name], layout)
        style = _TIME if field is layout.time else next(styles)
        run = _Run(digits[start : start + field.bits], 63 - start, style, field.name, _bits(field.bits), text, limits)
        runs.append(run)
    return runs


def _meaning(field: Field, value: int, layout: Layout) -> tuple[str, str]:
    """Return a field's value and its range in words."""
    if field is not layout.time:
        return str(value), f"0 to {field.capacity - 1}"
    return utc(layout.time_of_tick(value)), f"{layout.first_time:%Y-%m-%d} to {layout.last_time:%Y-%m-%d}"


def _bits(count: int) -> str:
    return f"{count} bit" + ("s" if count != 1 else "")


def _line(runs: Sequence[_Run], cell: Callable[[_Run], Text]) -> Text:
    line = Text(_INDENT)
    for run in runs:
        text = cell(run)
        line.append_text(text).append(" " * (run.width - len(text) + 1))
    line.rstrip()
    return line
