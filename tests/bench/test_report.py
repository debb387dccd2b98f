"""The report: every chart has data, every sentence follows from it, and the page asks nobody for anything."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from shardflake.bench import reporting
from shardflake.bench.reporting import disorder
from shardflake.bench.reporting.page import SECTIONS
from shardflake.bench.reporting.summary import Summary, size_in_bytes
from shardflake.bench.reporting.words import Section
from shardflake.bench.storage import read
from shardflake.cli import app
from tests.bench.synthetic import CONTENDERS, SCENARIOS, header, records, sample, write

NAMES = {name for name, *_ in CONTENDERS}
OTHERS = NAMES - {"bigserial", "bigserial-aa"}
CHARTS = {
    "forest": OTHERS,
    "size": NAMES,
    "clients": {f"autocommit/{name}" for name in NAMES},
    "latency": NAMES,
    "wal": {f"{name}/wal_split" for name in NAMES - {"bigserial-aa"}},
    "density": {"sweep/64", "sweep/128", "case/shardflake, 8 writers", "case/CACHE 32 x 8"},
    "heatmap": NAMES - {"bigserial-aa"},
    "fill": NAMES - {"bigserial-aa"},
    "migration": {f"shardflake/{scenario}" for scenario, *_ in SCENARIOS},
    "retention": NAMES,
    "reads": OTHERS,
    "checkpoint": {"uuidv4/off", "uuidv4/lz4", "bigserial/off"},
}
"""Charts by section, and some of the data that each must show."""
pytestmark = pytest.mark.xdist_group("report")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Collects attributes, and the geometry of each tagged series by chart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.series: dict[str, dict[str, int]] = {}
        self._chart = ""
        self._open: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.attributes += [(tag, name, value) for name, value in found.items()]
        self.ids += [found["id"]] if "id" in found else []
        if tag == "svg":
            self._chart = found["aria-labelledby"].split("-title")[0]
            self.series[self._chart] = {}
        if tag == "g":
            self._open.append(found.get("data-series"))
            if self._open[-1]:
                self.series[self._chart].setdefault(str(self._open[-1]), 0)
        drawn = (tag == "path" and re.search(r"\d", found.get("d", ""))) or tag in ("use", "image", "text")
        if drawn and (name := next((name for name in reversed(self._open) if name), None)):
            self.series[self._chart][name] += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag == "g":
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag == "g":
            self._open.pop()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of something of every kind, and its report."""
    return reporting.write(write(tmp_path_factory.mktemp("run"), records()))


@pytest.fixture(scope="module")
def html(drawn: Path) -> str:
    return drawn.read_text()


def sections(directory: Path) -> dict[str, Section]:
    summary = Summary(read(directory))
    return {section.name: section for section in (make(summary) for make in SECTIONS)}


def changed(change: Callable[[dict[str, Any]], None], blocks: int = 4) -> Iterator[dict[str, Any]]:
    for record in records(blocks):
        change(record)
        yield record


@pytest.mark.parametrize("shape", ["wide", "narrow"])
@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_shows_its_data(html: str, name: str, shape: str) -> None:
    series = Page(html).series[f"{name}-{shape}"]
    assert series.keys() >= CHARTS[name]
    assert all(series.values()), "a series without geometry"


def test_what_sessions_waited_for_stands_under_the_latency(drawn: Path) -> None:
    (table,) = sections(drawn.parent)["latency"].tables
    assert table.headings == ["key", "LWLock", "Lock", "IO", "IPC", "looks"]
    assert ["UUIDv4", "20%", "0%", "10%", "0%", "360"] in table.rows


def test_there_is_no_other_chart_and_no_broken_number(html: str) -> None:
    assert {name.rpartition("-")[0] for name in Page(html).series} == CHARTS.keys()
    assert not re.search(r"\b(nan|inf)\b", html, re.IGNORECASE)
    wide = html.partition('aria-labelledby="heatmap-wide')[2].partition("</svg>")[0]
    assert wide.count("<image") >= len(CHARTS["heatmap"])


def test_every_chart_is_followed_by_its_sentence(html: str, drawn: Path) -> None:
    found = sections(drawn.parent)
    assert all(section.sentence and not section.missing for section in found.values())
    for name in CHARTS:
        part = html.partition(f'<section id="{name}">')[2].partition("</section>")[0]
        assert re.search(r'</figure>\s*<p class="finding">[^<]{20,}', part), name


def test_charts_are_read_out_and_follow_the_theme(html: str) -> None:
    page = Page(html)
    charts = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(charts) == 2 * len(CHARTS)
    for chart in charts:
        assert 'role="img"' in chart
        assert re.search(r"<title[^>]*>[^<]+</title><desc[^>]*>[^<]{20,}</desc>", chart)
        assert not re.search(r"(?:fill|stroke): #", chart), "a colour of one theme"
    assert len(page.ids) == len(set(page.ids)), "an id twice"
    referred = re.findall(r'(?:url\(|href=")#([^)"]+)', html)
    assert set(referred) <= set(page.ids)


def test_nothing_in_the_page_leads_out_of_it(html: str) -> None:
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in html
    for tag, name, value in Page(html).attributes:
        assert name not in ("src", "srcset", "action", "data", "poster"), (tag, name)
        if name in ("href", "xlink:href"):
            assert value.startswith(("#", "data:image/png")), (tag, value)
        if not name.startswith("xmlns"):
            assert "://" not in value, (tag, name, value)
    assert "@import" not in html
    assert "<script" not in html


def asked(page: Path, log: Path) -> set[str | None]:
    """Return the hosts that a browser asks for something while it shows a page."""
    assert CHROMIUM
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync"]
    options = ["--headless", "--no-sandbox", "--disable-gpu", *quiet, f"--log-net-log={log}", f"--user-data-dir={log}.d"]
    subprocess.run([CHROMIUM, *options, "--dump-dom", page.as_uri()], capture_output=True, check=True, timeout=120)
    return {urlsplit(url).hostname for url in re.findall(r'"url":"(https?:[^"]+)"', log.read_text())}


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_asks_nobody(drawn: Path, tmp_path: Path) -> None:
    asking = tmp_path / "asking.html"
    asking.write_text('<img src="http://127.0.0.1:9/picture.png">')
    with_picture = asked(asking, tmp_path / "control.json")
    assert "127.0.0.1" in with_picture
    assert asked(drawn, tmp_path / "log.json") <= with_picture - {"127.0.0.1"}, "more than the browser's own maker"


def test_it_is_drawn_again_the_same(html: str, tmp_path: Path) -> None:
    assert reporting.write(write(tmp_path, records())).read_text() == html


def test_a_run_without_anything_leaves_all_out_and_says_why(tmp_path: Path) -> None:
    page = reporting.write(write(tmp_path, [header()])).read_text()
    found = sections(tmp_path)
    left_out = {name for name, section in found.items() if section.missing}
    assert left_out == found.keys() - {"unavailable", "surroundings"}
    assert page.count("Left out: ") == len(left_out)
    assert "<svg" not in page
    assert "did not get to its end" in page


def test_where_nothing_differs_no_sentence_says_that_it_does(tmp_path: Path) -> None:
    everything = list(records(blocks=4))
    base = {
        (each["workload"], each["block"], json.dumps(each["params"]), each["metric"]): each["value"]
        for each in everything
        if each["kind"] == "sample" and each["contender"] == "bigserial"
    }
    kept = []
    for each in everything:
        if each["kind"] == "sample" and each["workload"] not in ("disorder", "migration"):
            each["value"] = base[each["workload"], each["block"], json.dumps(each["params"]), each["metric"]]
        elif each["kind"] in ("series", "histogram", "heatmap") or each.get("workload") in ("disorder", "migration"):
            continue
        kept.append(each)
    found = sections(write(tmp_path, kept))
    assert found["headline"].sentence.startswith("No key is told from bigserial as worse in this run.")
    assert found["forest"].sentence.startswith("0 of ")
    assert found["clients"].sentence == "Autocommit rows: no key is told from bigserial with any number of clients."
    assert found["latency"].sentence == "At the 99th percentile no key is told from bigserial in this run."
    assert found["wal"].sentence == "No key is told from bigserial by the WAL that it writes."
    assert found["reads"].sentence == "join, page, point, scan and window: no key is told from bigserial."
    assert "slower" not in found["retention"].sentence.replace("no key is told from bigserial as slower", "")
    assert found["size"].missing
    assert all(re.fullmatch(r"–|[\d,.]+(\n~.*)?", cell) for row in found["headline"].tables[0].rows[:-1] for cell in row[1:])  # noqa: RUF001


def test_a_ratio_outside_its_range_is_said_to_be(tmp_path: Path) -> None:
    def denser(record: dict[str, Any]) -> None:
        if record.get("metric") == "index_bytes_per_row" and record["contender"] == "uuidv7":
            record["value"] *= 1.2

    section = sections(write(tmp_path, changed(denser)))["expected"]
    assert "2 of 9 measured ratios lie outside the expected range" in section.sentence
    assert "index, UUIDv7 : bigserial is 1.68" in section.sentence
    verdicts = {row[0]: row[-1] for row in section.tables[0].rows}
    assert verdicts["index, UUIDv7 : bigserial"] == "outside"
    assert verdicts["index, UUIDv4 : bigserial"] == "inside"
    assert verdicts["insert time out of cache, UUIDv4 : UUIDv7"] == "-"


def test_one_block_gives_levels_and_claims_nothing(tmp_path: Path) -> None:
    page = reporting.write(write(tmp_path, records(blocks=1)))
    section = sections(tmp_path)["headline"]
    assert "No key is told from bigserial" in section.sentence
    assert "in one block" in page.read_text()


def some_of(everything: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return a run from which contenders, kinds of records and single records are missing, and some values are 0."""
    choice = random.Random(seed)
    share = choice.choice([0.02, 0.1, 0.4, 0.9])
    contenders = {*choice.sample(sorted(NAMES), choice.randint(1, 9)), "bigint", "uuid"}
    kinds = {kind for kind in ("sample", "series", "histogram", "heatmap", "physics", "finding") if choice.random() < 0.8}
    kept = [
        each for each in everything[1:] if each["kind"] in kinds and each["contender"] in contenders and choice.random() < share
    ]
    return [everything[0], *(each | ({"value": 0} if "value" in each and choice.random() < 0.03 else {}) for each in kept)]


@pytest.mark.parametrize("drawn_too", [False, True])
def test_whatever_is_missing_the_rest_is_shown(tmp_path: Path, drawn_too: bool) -> None:
    everything = list(records(blocks=2))
    for seed in range(2) if drawn_too else range(2, 40):
        directory = write(tmp_path, some_of(everything, seed))
        assert all(bool(section.missing) != bool(section.sentence) for section in sections(directory).values())
        if drawn_too:
            reporting.write(directory)


def test_warnings_stand_in_red_above_all(html: str, tmp_path: Path) -> None:
    assert '<p class="alarm" role="note">fsync is off: commits are not durable</p>' in html
    assert re.search(r'class=" alarmed[^"]*">off<', html)
    server = header()["server"] | {"settings": {"fsync": "on"}}
    page = reporting.write(write(tmp_path, [header(server=server, warnings=[]), {"kind": "end"}])).read_text()
    assert 'class="alarm"' not in page


def test_a_fresh_index_is_not_called_bloated(html: str) -> None:
    assert {found.lower() for found in re.findall(r"(\w+) bloat", html)} <= {"no", "not"}
    assert disorder.advice(0.9, 0.9) == "Nothing to do: this is as dense as a fresh index."
    assert "44 % smaller" in disorder.advice(0.9, 0.5)
    assert "No worse than before" in disorder.advice(0.69, 0.70)


def test_what_the_run_says_is_no_markup(tmp_path: Path) -> None:
    evil = header(unavailable=[{"metric": "<script>alert(1)</script>", "reason": "a|b", "grant": None}])
    evil["contenders"][3]["label"] = "<b>bold</b> $x$"
    lines = [evil, *list(records(blocks=2))[1:]]
    page = reporting.write(write(tmp_path, lines)).read_text()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;bold" in page
    assert "a\\|b" in (tmp_path / "report.md").read_text()


def test_csv_and_json_hold_everything_measured(drawn: Path) -> None:
    summary = Summary(read(drawn.parent))
    with (drawn.parent / "report.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(summary.rows)
    ours = next(row for row in rows if (row["contender"], row["metric"]) == ("uuidv7", "index_bytes_per_row"))
    assert (float(ours["level"]), ours["claimed"], json.loads(ours["params"])["rows"]) == (31.4, "True", 1_000_000)
    value = json.loads((drawn.parent / "report.json").read_text())
    assert len(value["measured"]) == len(rows)
    assert {section["name"] for section in value["sections"]} == {section.name for section in sections(drawn.parent).values()}


def test_markdown_tables_are_whole(drawn: Path) -> None:
    text = (drawn.parent / "report.md").read_text()
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "\n\n\n" not in text


def test_the_command_prints_the_page_and_refuses_what_is_none(tmp_path: Path) -> None:
    write(tmp_path, [header(), sample("bulk", "uuidv4", 1, {}, "seconds", 1.0, "s")])
    done = CliRunner().invoke(app, ["bench", "report", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'report.html'}\n")
    write(tmp_path, [header(format=99)])
    refused = CliRunner().invoke(app, ["bench", "report", str(tmp_path)])
    assert refused.exit_code == 2
    assert "has format 99" in refused.output


@pytest.mark.parametrize(
    ("setting", "size"), [("128MB", 128 << 20), ("16 kB", 16384), ("1GB", 1 << 30), ("8192", 8192), ("on", None), (None, None)]
)
def test_sizes_of_settings(setting: str | None, size: int | None) -> None:
    assert size_in_bytes(setting) == size
