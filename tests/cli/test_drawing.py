"""The drawing of an id: exact text, a column for each bit, readable colours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from rich.color import Color
from rich.console import Console

from shardflake.cli.drawing import age, draw
from shardflake.ids import make_id
from shardflake.kinds import of_layout
from shardflake.layout import MAX_ID, SHARDFLAKE, Field, Layout

ID = make_id(datetime(2026, 7, 6, 8, 30, 0, 123456, tzinfo=UTC), 5, 42)

GOLDEN = """\
  63    62                                    23 22         10 9        0
  0     0000101100010111011000101110111110111011 0000000000101 0000101010
  sign  time                                     shard         counter
  1 bit 40 bits                                  13 bits       10 bits
        2026-07-06 08:30:00.123 UTC              5             42
        2025-01-01 to 2059-11-04                 0 to 8191     0 to 1023"""


def test_the_text_is_as_committed() -> None:
    assert draw(ID).plain == GOLDEN


@pytest.mark.parametrize("value", [0, 1, ID, MAX_ID])
def test_every_bit_is_one_column_of_its_fields_colour(value: int) -> None:
    drawing = draw(value)
    digits = drawing.split("\n")[1]
    runs = [(digits.plain[span.start : span.end], str(span.style)) for span in digits.spans]
    assert "".join(bits for bits, _ in runs) == format(value, "064b")
    assert [len(bits) for bits, _ in runs] == [1, *(field.bits for field in SHARDFLAKE.fields)]
    assert len({style for _, style in runs}) == len(runs), "two fields have the same colour"


def test_colours_contrast_with_the_digits_on_them_whatever_the_terminal() -> None:
    for span in draw(ID).split("\n")[1].spans:
        foreground, background = str(span.style).split(" on ")
        assert _luminance(background) > 8 * _luminance(foreground) + 0.3, span.style


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_terminal(width: int) -> None:
    assert max(map(len, draw(MAX_ID).plain.split("\n"))) <= 80
    console = Console(width=width, record=True, force_terminal=True, color_system="256", file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(draw(ID))
    assert console.export_text().rstrip("\n") == GOLDEN


def test_another_layout_is_drawn_by_the_same_rules() -> None:
    layout = Layout("short", (Field("counter", 3), Field("time", 20), Field("shard", 4)), epoch_ms=0, tick_ms=1000)
    ruler, digits, names, sizes, values, _ = draw((5 << 24) | (60 << 4) | 9, of_layout(layout)).plain.split("\n")
    assert digits.split() == ["0" * 37, "101", format(60, "020b"), "1001"]
    assert names.split() == ["unused", "counter", "time", "shard"]
    assert sizes.split()[::2] == ["37", "3", "20", "4"]
    assert values.split() == ["5", "1970-01-01", "00:01:00.000", "UTC", "9"]
    assert ruler.split() == ["63", "27", "26", "23", "4", "3"]


@pytest.mark.parametrize(
    ("since", "text"),
    [
        (timedelta(0), "0 ms ago"),
        (timedelta(milliseconds=999), "999 ms ago"),
        (timedelta(seconds=59.9), "59 s ago"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=3, seconds=30), "3 minutes ago"),
        (timedelta(hours=47), "47 hours ago"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=729), "729 days ago"),
        (timedelta(days=731), "2 years ago"),
        (timedelta(days=365.25 * 34), "34 years ago"),
        (timedelta(seconds=-2.5), "in 2 s"),
        (timedelta(minutes=-1), "in 1 minute"),
    ],
)
def test_ages(since: timedelta, text: str) -> None:
    assert age(since) == text


def _luminance(color: str) -> float:
    """Return the relative luminance of a colour of the 256-colour cube, 0 (black) to 1 (white)."""
    channels = [channel / 255 for channel in Color.parse(color).get_truecolor()]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
