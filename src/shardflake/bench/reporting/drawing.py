"""How every chart looks, and how it becomes a part of the page: SVG whose colours follow the reader's theme."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from shardflake.bench.reporting.words import Shape

INK, MUTED, GRID, BAND, PANEL = "#1b1f24", "#5b6470", "#d9dee4", "#e9dfc7", "#10151b"
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = "#0072b2", "#b86e00", "#007d5a", "#c44601", "#a24d85", "#2a8fc4", "#7c8894"

THEME = {
    INK: ("ink", "#e7ebf0"),
    MUTED: ("muted", "#a4aeba"),
    GRID: ("grid", "#333b45"),
    BAND: ("band", "#443c26"),
    PANEL: ("panel", "#10151b"),
    BLUE: ("blue", "#5cb3f0"),
    ORANGE: ("orange", "#f0b04a"),
    GREEN: ("green", "#4cc9a0"),
    RED: ("red", "#ff8a5c"),
    PURPLE: ("purple", "#e09fcb"),
    SKY: ("sky", "#8fd3f5"),
    GREY: ("grey", "#8d98a5"),
}
"""Colour on paper: its name as a CSS variable, and the colour in the dark. Hues after Okabe and Ito, told apart by
colour-blind readers, darkened until text in them can be read on white; families of keys also differ in dash and marker."""

CYCLE = (PURPLE, GREY, SKY, ORANGE, GREEN, RED, BLUE)


@dataclass(frozen=True, slots=True)
class Style:
    """How one contender is drawn."""

    colour: str
    marker: str = "o"
    dash: str = "-"
    strong: bool = False


_STYLES = {
    "bigserial": Style(INK, "o", "-", strong=True),
    "bigserial-aa": Style(INK, ".", ":"),
    "bigserial-cache32": Style(INK, "s", "--"),
    "tickets": Style(GREY, "D", "-"),
    "shardflake": Style(BLUE, "o", "-", strong=True),
    "instagram": Style(ORANGE, "X", "-"),
    "twitter": Style(SKY, "^", "-"),
    "sonyflake": Style(SKY, "v", "--"),
    "uuidv4": Style(RED, "s", "-", strong=True),
    "uuid-text": Style(RED, "P", "--"),
    "uuidv7": Style(GREEN, "D", "-", strong=True),
    "uuidv7-ms": Style(GREEN, "d", "--"),
    "ulid-uuid": Style(PURPLE, "<", "-"),
    "ulid-text": Style(PURPLE, ">", "--"),
}


def style(contender: str) -> Style:
    """Return how a contender is drawn; the same in every chart, also for one that this module does not know."""
    if contender in _STYLES:
        return _STYLES[contender]
    return Style(CYCLE[sum(contender.encode()) % len(CYCLE)], "h", "-.")


def line_style(contender: str) -> dict[str, Any]:
    """Return a contender's style as arguments of ``plot``."""
    found = style(contender)
    return {
        "color": found.colour,
        "marker": found.marker,
        "linestyle": found.dash,
        "linewidth": 1.8 if found.strong else 1.0,
        "markersize": 4.5 if found.strong else 3.5,
        "zorder": 3 if found.strong else 2,
    }


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the report."""
    settings = {
        "svg.fonttype": "none",  # text stays text: it can be read out, searched, and set in the page's own font
        "svg.hashsalt": "shardflake",  # the same results give the same file
        "text.parse_math": False,  # labels come from the results: a dollar sign in them is one
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.labelsize": 9.5,
        "legend.fontsize": 9,
        "text.color": INK,
        "axes.labelcolor": MUTED,
        "axes.edgecolor": MUTED,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "axes.grid": True,
        "hatch.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
    }
    with mpl.rc_context(settings):  # type: ignore[arg-type]
        yield


def figure(shape: Shape, height: float, narrow_height: float | None = None) -> Figure:
    """Return an empty figure as wide as the page, or as a phone; heights in inches."""
    narrow = shape is Shape.NARROW
    size = (4.6, narrow_height or height) if narrow else (10.4, height)
    return Figure(figsize=size, layout="constrained", dpi=110)


def legend_below(chart: Figure, axes: Axes, shape: Shape, columns: int = 5) -> None:
    """Put the legend of an axes below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        columns = min(columns if shape is Shape.WIDE else 2, len(handles))
        chart.legend(handles, labels, loc="outside lower center", ncols=columns)


def tag(artist: Any, data: str) -> None:
    """Mark an artist as data: it becomes ``data-series`` in the SVG, by which tests see that a chart is not empty."""
    artist.set_gid(f"series:{data}")


def to_svg(chart: Figure, name: str, shape: Shape, title: str, alt: str) -> str:
    """Return a chart as an SVG element to stand in a page.

    Colours become CSS variables; ids are made unique in the page and dropped where nothing refers to them.

    :param name: unique in the page, together with the shape.
    :param alt: what it shows, in words.
    """
    buffer = io.StringIO()
    metadata: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    FigureCanvasSVG(chart).print_svg(buffer, metadata=metadata)  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'<style type="text/css">\*\{[^}]*\}</style>', "", text)  # it would restyle the whole page
    text = _unique_ids(text, f"{name}-{shape.value}")
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: _variable(found[0]), text)
    text = re.sub(r"font-family: [^;\"]*", "font-family: system-ui, sans-serif", text)
    text = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    box = re.search(r'viewBox="[^"]*"', text)
    prefix = f"{name}-{shape.value}"
    opening = (
        f'<svg class="chart {shape.value}" role="img" aria-labelledby="{prefix}-title {prefix}-desc" '
        f'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {box[0] if box else ""}>'
        f'<title id="{prefix}-title">{escape(title)}</title><desc id="{prefix}-desc">{escape(alt)}</desc>'
    )
    return opening + text[text.index(">") + 1 :].strip()


def theme_css(dark: bool) -> str:
    """Return the CSS variables of the charts for one theme."""
    return " ".join(f"--{name}: {dark_colour if dark else light};" for light, (name, dark_colour) in THEME.items())


def _variable(colour: str) -> str:
    return f"var(--{THEME[colour][0]})" if colour in THEME else colour


def _unique_ids(text: str, prefix: str) -> str:
    reference = r"((?:url\(|href=\")#)([\w.:-]+)"
    used = {found[1] for found in re.findall(reference, text)}

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("series:"):
            return f'data-series="{escape(name.removeprefix("series:"), quote=True)}"'
        return f'id="{prefix}-{name}"' if name in used else ""

    text = re.sub(r'\bid="([^"]*)"', replace, text)
    return re.sub(reference, rf"\g<1>{prefix}-\g<2>", text)
