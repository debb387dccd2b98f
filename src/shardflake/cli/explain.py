"""``shardflake id explain``: say what an id may be, and draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice

import typer
from rich.text import Text

from shardflake.cli.drawing import age, draw
from shardflake.cli.input import EpochOption, FromOption, IdsArgument, LayoutOption, TickOption, kind_of, read_ids
from shardflake.cli.output import Format, FormatOption, stdout, utc
from shardflake.errors import InvalidIdError
from shardflake.kinds import DAY_MS, KINDS, Kind, candidates, ruled_out, time_of
from shardflake.texts import TextForm, parse, render

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LINES_AT_ONCE = 2000

Item = tuple[str, int, list[Kind]]
"""An id as it was given, its number, and the kinds that it may be of."""


def explain(
    ids: IdsArgument = None,
    layout: LayoutOption = None,
    epoch: EpochOption = None,
    tick: TickOption = None,
    from_: FromOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Take ids apart: every plausible layout, the bits drawn to scale, time in UTC, the other fields, and age."""
    kind = None if layout is None else kind_of(layout, epoch, tick)
    if kind is None and (epoch is not None or tick is not None):
        raise InvalidIdError("--epoch and --tick need --layout with widths, such as 41/10/12")
    now = datetime.now(UTC)
    now_ms = (now - _EPOCH) // timedelta(milliseconds=1)
    items = _items(read_ids(ids), kind, from_, now_ms)
    if ids:
        items = iter(list(items))  # nothing is printed before all arguments are known to be good
    if format_ is Format.JSON:
        lines = _json_lines(items, now_ms, kind)
        while chunk := list(islice(lines, _LINES_AT_ONCE)):
            typer.echo("\n".join(chunk))
    else:
        for number, item in enumerate(items):
            _print(item, now_ms, first=number == 0)


def _items(texts: Iterable[tuple[str, str]], kind: Kind | None, form: TextForm | None, now_ms: int) -> Iterator[Item]:
    kinds = [] if kind is None else [kind]
    for text, where in texts:
        try:
            found, value = parse(text, form)
            if kind is not None:
                kind.check(value)
            yield text, value, kinds or candidates(found, value, now_ms)
        except InvalidIdError as error:
            raise InvalidIdError(f"{where}{error}") from None


def _json_lines(items: Iterable[Item], now_ms: int, chosen: Kind | None) -> Iterator[str]:
    kinds = list(KINDS.values()) if chosen is None else [chosen]
    objects = {kind.name: _object(kind, now_ms) for kind in kinds}
    readings = {kind.name: _reading(kind) for kind in kinds}
    for _, value, (kind, *others) in items:
        start = objects[kind.name](value)
        if chosen is None:
            yield f'{start}, "other_readings": [{", ".join([readings[other.name](value) for other in others])}]}}'
        else:
            yield start + "}"


def _object(kind: Kind, now_ms: int) -> Callable[[int], str]:
    """Return the function that gives what an id of a kind says as a JSON object, but for the closing brace.

    Above 53 bits numbers are strings, which JavaScript does not round. One template for each kind: names, digits and times need
    no escapes, and ``json.dumps`` would take most of the time that a million ids take.
    """
    numbers = [*((name, shift, mask) for name, shift, mask in kind.plan if name != "time"), *kind.groups]
    places = [(shift, mask) for _, shift, mask in numbers]
    values = "".join(f', "{name}": "%d"' if name in kind.wide else f', "{name}": %d' for name, _, _ in numbers)
    time, age = (', "time": %s, "unix_ms": %d', ', "age_ms": %d') if kind.has_time else ("", "")
    template = f'{{"id": "%s", "layout": "{kind.name}"{time}{values}{age}'
    text: Callable[[int], object] = int if kind.layout is not None else lambda value: render(value, kind.form)
    made = kind.reads_ms
    if made is None:
        return lambda value: template % (text(value), *[value >> shift & mask for shift, mask in places])

    def write(value: int) -> str:
        unix_ms = made(value)
        parts = [value >> shift & mask for shift, mask in places]
        return template % (text(value), _iso(unix_ms), unix_ms, *parts, now_ms - unix_ms)

    return write


def _reading(kind: Kind) -> Callable[[int], str]:
    """Return the function that gives the JSON object of what an id would be as one of a kind."""
    made = kind.reads_ms
    if made is None:
        return lambda value: f'{{"layout": "{kind.name}"}}'
    start = f'{{"layout": "{kind.name}", "time": '
    return lambda value: f"{start}{_iso(made(value))}}}"


def _print(item: Item, now_ms: int, *, first: bool) -> None:
    text, value, (kind, *others) = item
    console = stdout()
    if not first:
        console.print()
    unix_ms = kind.unix_ms(value)
    old = "" if unix_ms is None else f"  {_age(now_ms - unix_ms)}"
    console.print(Text.assemble((text, "bold"), f"  {kind.name}", old))
    console.print(draw(value, kind, console.width))
    if unix_ms is not None and not kind.is_plausible(value, now_ms):
        _remark(f"Its time is implausible: {kind.name} is expected from {_window(kind, now_ms)}.", "yellow")
    if others:
        console.print("  It may also be, for nothing in its bits says which; --layout NAME chooses:")
        width = max(len(other.name) for other in others)
        for other in others:
            console.print(f"  {other.name:{width}}  {_in_short(other, value)}")
        reasons = [f"{name}, {reason}" for name, reason in ruled_out(value, now_ms).items()] if kind.layout else []
        _remark("Listed are those whose time lies between their first day and tomorrow.", "dim")
        if reasons:
            _remark(f"Ruled out: {'; '.join(reasons)}.", "dim")


def _remark(text: str, style: str) -> None:
    """Print a sentence in lines that fit, all of them indented."""
    console = stdout()
    for line in Text(text, style).wrap(console, console.width - 2):
        line.rstrip()
        console.print(Text("  ").append_text(line))


def _in_short(kind: Kind, value: int) -> str:
    made = kind.unix_ms(value)
    time = None if made is None else time_of(made)
    parts = [utc(time)] if time else []
    for field in kind.fields:
        if field.name != "time" and field.name not in kind.constants:
            number = kind.decode(value)[field.name]
            parts.append(f"{field.name} {number if field.bits <= 32 else hex(number)}")
    return "  ".join(parts)


def _window(kind: Kind, now_ms: int) -> str:
    since, until = time_of(kind.since_ms), time_of(now_ms + DAY_MS)
    return f"{since:%Y-%m-%d} to tomorrow, {until:%Y-%m-%d}"


def _age(milliseconds: int) -> str:
    return age(timedelta(milliseconds=milliseconds)) if time_of(abs(milliseconds)) else "in thousands of years"


def _iso(unix_ms: int) -> str:
    """Return a time as JSON, written as ``output.iso`` does, at a fraction of its cost; null past the year 9999."""
    minute, rest = divmod(unix_ms, 60_000)
    date = _date(minute // 1440)
    return "null" if date is None else f"{date}{_MINUTES[minute % 1440]}{_SECONDS[rest // 1000]}{_MILLISECONDS[rest % 1000]}"


@lru_cache(maxsize=100_000)
def _date(day: int) -> str | None:
    time = time_of(day * DAY_MS)
    return f'"{time:%Y-%m-%d}T' if time else None


# The parts of a time, ready-made. Not all the seconds of a day: those would not stay in the processor's cache.
_MINUTES = [f"{minute // 60:02}:{minute % 60:02}:" for minute in range(1440)]
_SECONDS = [f"{second:02}." for second in range(60)]
_MILLISECONDS = [f'{number:03}Z"' for number in range(1000)]
