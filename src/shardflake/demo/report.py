"""What the demo shows: a story and numbers per step, and a summary; at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from shardflake.cli.drawing import draw
from shardflake.demo.load import WRITERS
from shardflake.demo.steps import FoundOrder, IndexSize, InstagramLoad, Page, ShardflakeLoad, SharedNumbers
from shardflake.demo.store import Order, Store
from shardflake.demo.story import OPENING, Chapter
from shardflake.ids import decode

WIDTH = 100

_SHARD_COLOURS = {"americas": "cyan", "europe": "blue", "asia": "magenta", "oceania": "green"}
_LONGEST_BAR = 32
_SESSIONS = f"{WRITERS} sessions"


@dataclass(frozen=True, slots=True)
class Results:
    """What all steps found."""

    numbers: SharedNumbers
    instagram: InstagramLoad
    shardflake: ShardflakeLoad
    found: FoundOrder
    pages: Sequence[Page]
    indexes: Sequence[IndexSize]

    @property
    def failures(self) -> list[str]:
        """What contradicts the claims of the demo; nothing, if it passed."""
        loaded = self.shardflake
        claims = (
            (loaded.duplicates, f"shardflake gave out {loaded.duplicates:,} ids again"),
            (loaded.foreign, f"{loaded.foreign:,} ids of shardflake name another shard than the one that made them"),
            (loaded.mixed_up, f"{loaded.mixed_up:,} objects got the key of another row"),
            (
                not self.instagram.duplicates,
                f"Instagram's function gave out no id again in {self.instagram.rows:,} rows, so that this run proves nothing: "
                "run it once more, or with more --rows",
            ),
        )
        return [text for failed, text in claims if failed]


class Report:
    """Prints to a console.

    :param console: of standard output.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._steps = 0

    def opening(self, version: str) -> None:
        """Say what is going to happen."""
        self._console.print(Text.assemble(("shardflake demo", "bold"), (f"  {version}", "dim")))
        self._indent(Text(OPENING))

    def step(self, chapter: Chapter) -> None:
        """Start a step: its number, its title, and what it is about."""
        self._steps += 1
        self._heading(f"{self._steps}  {chapter.title}")
        self._indent(Text(chapter.story))

    def numbers(self, numbers: SharedNumbers, store: Store) -> None:
        """Show order numbers that several shards gave out."""
        table = _table("order number", *(shard.name for shard in store.shards))
        for number, contents in numbers.examples.items():
            table.add_row(f"{number}", *(contents.get(shard.name, "-") for shard in store.shards))
        self._show(table)
        self._say(
            f"[red]{numbers.shared:,} order numbers[/] belong to different orders in several databases "
            f"({numbers.orders:,} orders in all)."
        )

    def instagram(self, load: InstagramLoad) -> None:
        """Show ids that Instagram's function gave out twice."""
        if load.duplicates:
            table = _table("the same id", "was given to", "and to")
            for row_id, rows in load.examples.items():
                table.add_row(f"{row_id}", *rows[:2])
            self._show(table)
        colour = "red" if load.duplicates else "yellow"
        self._say(
            f"[{colour}]{load.duplicates:,} duplicate ids[/] in {load.rows:,} rows, at "
            f"{load.rows / load.seconds / 1000:,.0f} ids per millisecond on average. Its counter has room for 1,024."
        )

    def shardflake(self, load: ShardflakeLoad, store: Store) -> None:
        """Show how many rows were written, and whether an id was there twice."""
        table = _table("shard", ">shard id", ">rows by plain SQL", ">rows by the ORM")
        for shard in store.shards:
            cells = (f"{shard.shard_id}", f"{load.scans[shard.name]:,}", f"{load.objects[shard.name]:,}")
            table.add_row(_shard(shard.name), *cells)
        self._show(table)
        colour = "red" if load.duplicates else "green"
        self._say(
            f"[{colour}]{load.duplicates:,} duplicate ids[/] among all {load.rows:,}, and {load.foreign:,} that name a wrong "
            f"shard. The ORM sent {load.inserts:,} INSERTs for its {sum(load.objects.values()):,} rows, and "
            f"{load.mixed_up:,} of its orders came back with the key of another row."
        )

    def found(self, found: FoundOrder) -> None:
        """Show an order that was found by its id."""
        order = found.order
        self._say(
            f"order [bold]{order.id}[/]  →  shard {found.shard.shard_id}, {found.shard.name}  →  "
            f"{order.reference} of {order.customer.name}"
        )
        table = _table("product", ">quantity", ">price")
        for line in order.lines:
            table.add_row(line.product, f"{line.quantity}", f"{line.price_cents / 100:.2f}")
        self._show(table)
        counts = ", ".join(f"{name} {count}" for name, count in found.statements.items())
        self._say(f"Statements sent: {counts}.")

    def pages(self, pages: Sequence[Page]) -> None:
        """Show pages of the feed."""
        for number, page in enumerate(pages, start=1):
            table = _table(f"page {number}: time (UTC)", "shard", "customer", "order", "id")
            for order in page.orders:
                table.add_row(*_feed_row(order))
            self._show(table)
        self._say(
            f"{pages[0].statements} statements a page, one per shard, each a range of the primary key. The order of ids is the "
            "order of time, to within the fraction of a second that generators and clocks may be apart."
        )

    def explanation(self, row_id: int) -> None:
        """Show the bits of an id, and what they say."""
        self._say(f"[bold]{row_id}[/] in bits:")
        self._show(draw(row_id))

    def indexes(self, indexes: Sequence[IndexSize]) -> None:
        """Show what each key costs in its index."""
        least = min(index.bytes_per_row for index in indexes)
        most = max(index.bytes_per_row for index in indexes)
        table = _table("primary key", ">rows", ">index, kB", ">bytes per row", "")
        for index in indexes:
            bar = "▇" * round(index.bytes_per_row / most * _LONGEST_BAR)
            colour = "green" if index.bytes_per_row < least * 1.05 else "red"
            cells = (f"{index.rows:,}", f"{index.size / 1024:,.0f}", f"{index.bytes_per_row:.1f}")
            table.add_row(index.name, *cells, Text(bar, style=colour))
        self._show(table)

    def summary(self, results: Results, seconds: float) -> None:
        """Print what the whole demo comes down to, and a line that says whether it holds.

        :param seconds: that it took.
        """
        self._heading("Summary")
        table = _table("", ">", "")
        table.show_header = False
        for name, value, note in summary_rows(results):
            table.add_row(name, Text.from_markup(value, style="bold"), Text(note, style="dim"))
        self._show(table)
        verdict = ("FAIL", "bold red") if results.failures else ("PASS", "bold green")
        duplicates = f"Instagram's function {results.instagram.duplicates}, shardflake {results.shardflake.duplicates}"
        self._show(Text.assemble(verdict, f"  duplicate ids: {duplicates}", (f"  ({seconds:.0f} seconds)", "dim")))
        for failure in results.failures:
            self._indent(Text(f"{failure}."))

    def connections(self, store: Store) -> None:
        """Say how to look around while the server is kept."""
        self._heading("The server stays until Ctrl-C")
        for shard in store.shards:
            self._console.print(f"  psql {shard.url}", soft_wrap=True)
        self._say("There, for example:")
        for query in ("select shardflake.next_id()", "select * from shardflake.status()", "select * from orders limit 5"):
            self._indent(Text(f"{query};"))

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Rule(Text(text, style="bold"), align="left", style="dim"))

    def _say(self, markup: str) -> None:
        self._show(Text.from_markup(markup))

    def _show(self, content: RenderableType) -> None:
        self._console.print()
        self._indent(content)

    def _indent(self, content: RenderableType) -> None:
        self._console.print(Padding(content, (0, 2), expand=False))


def summary_rows(results: Results) -> list[tuple[str, str, str]]:
    """Return the rows of the summary: name, value in rich's markup, and what the value is of."""
    instagram, loaded, page = results.instagram, results.shardflake, results.pages[0]
    objects = sum(loaded.objects.values())
    rows = [
        ("bigserial: order numbers given out again", f"{results.numbers.shared:,}", f"of {results.numbers.orders:,} orders"),
        (
            "Instagram's function: duplicate ids",
            f"[red]{instagram.duplicates:,}",
            f"of {instagram.rows:,}; {_SESSIONS}, one shard",
        ),
        ("shardflake: duplicate ids", _zero(loaded.duplicates), f"of {loaded.rows:,}; {_SESSIONS} and an ORM a shard"),
        ("shardflake: objects with a wrong key", _zero(loaded.mixed_up), f"of {objects:,}, in {loaded.inserts:,} INSERTs"),
        ("order found by its id", f"{sum(results.found.statements.values())}", "statement, to one shard of four"),
        ("feed over four shards", f"{page.statements}", f"statements, {len(page.orders)} orders a page"),
    ]
    indexes = ((f"index: {index.name}", f"{index.bytes_per_row:.1f}", "bytes per row") for index in results.indexes)
    return [*rows, *indexes]


def _zero(count: int) -> str:
    """Return a count in markup: good if it is 0, bad otherwise."""
    return f"[{'red' if count else 'green'}]{count:,}"


def _table(*headings: str) -> Table:
    """Return a table; headings that start with ``>`` are of columns of numbers."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    return table


def _shard(name: str) -> Text:
    return Text(name, style=_SHARD_COLOURS[name])


def _feed_row(order: Order) -> tuple[Text | str, ...]:
    parts = decode(order.id)
    name = list(_SHARD_COLOURS)[parts.shard - 1]
    time = f"{parts.time:%H:%M:%S}.{parts.time.microsecond // 1000:03d}"
    return time, _shard(name), order.customer.name, order.reference, f"{order.id}"
