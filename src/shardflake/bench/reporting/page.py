"""Put the sections together and write them in four forms."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from shardflake.bench.reporting import disorder, drawing, evidence, forest, headline, pages, speed, upkeep
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import Section, Shape, Table, plural
from shardflake.bench.statistics import SAME
from shardflake.bench.storage import read

FORMAT = 1
SECTIONS: tuple[Callable[[Summary], Section], ...] = (
    headline.headline,
    headline.expectations,
    forest.forest,
    speed.rate_by_size,
    speed.clients,
    speed.latency,
    pages.wal,
    disorder.density,
    pages.heatmap,
    pages.fill,
    disorder.migration,
    upkeep.retention,
    upkeep.reads,
    pages.checkpoint,
    evidence.physics,
    evidence.correctness,
    evidence.overhead,
    evidence.unavailable,
    evidence.surroundings,
)


def write_all(results_dir: Path) -> Path:
    """Write the report in every form; see :func:`shardflake.bench.reporting.write`."""
    summary = Summary(read(results_dir))
    sections = [make(summary) for make in SECTIONS]
    page = results_dir / "report.html"
    (results_dir / "report.csv").write_text(to_csv(summary), encoding="utf-8")
    (results_dir / "report.json").write_text(to_json(summary, sections), encoding="utf-8")
    (results_dir / "report.md").write_text(_render("report.md.j2", summary, sections, {}), encoding="utf-8")
    page.write_text(_render("report.html.j2", summary, sections, _charts(sections)), encoding="utf-8")
    return page


def to_csv(summary: Summary) -> str:
    """Return everything measured, one row for each contender, case and metric."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(_flat(None)), lineterminator="\n")
    writer.writeheader()
    for row in summary.rows.values():
        writer.writerow(_flat(row) | {"params": json.dumps(dict(row.key.params), ensure_ascii=False)})
    return text.getvalue()


def to_json(summary: Summary, sections: list[Section]) -> str:
    """Return what the report says, for programs: surroundings, sentences, tables, and every row of the CSV."""
    value = {
        "format": FORMAT,
        "header": summary.results.header,
        "warnings": evidence.alarms(summary),
        "notes": summary.results.notes,
        "expected": [
            {"ratio": each.expected.label, "low": each.expected.low, "high": each.expected.high}
            | {"measured": each.mean, "interval": each.interval, "verdict": each.verdict}
            for each in headline.outcomes(summary)
        ],
        "sections": [
            {
                "name": each.name,
                "title": each.title,
                "sentence": each.sentence,
                "missing": each.missing or None,
                "tables": [
                    {"headings": list(table.headings), "rows": [list(row) for row in table.rows]} for table in each.tables
                ],
            }
            for each in sections
        ],
        "physics": [
            {"workload": each.workload, "contender": each.contender, "params": dict(each.params)} | each.fields
            for each in summary.results.physics
        ],
        "measured": [_flat(row) for row in summary.rows.values()],
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _charts(sections: list[Section]) -> dict[str, str]:
    """Return the charts by section, each in both shapes."""
    charts = {}
    with drawing.house_style():
        for section in sections:
            if section.draw is not None:
                charts[section.name] = "".join(
                    drawing.to_svg(section.draw(shape), section.name, shape, section.title, section.alt) for shape in Shape
                )
    return charts


def _render(template: str, summary: Summary, sections: list[Section], charts: dict[str, str]) -> str:
    environment = Environment(
        loader=PackageLoader("shardflake.bench.reporting", "."),
        autoescape=template.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown_table"] = _markdown_table
    environment.globals["tone"] = _tone
    header = summary.results.header
    return environment.get_template(template).render(
        sections=sections,
        charts=charts,
        alarms=evidence.alarms(summary),
        header=header,
        blocks=plural(summary.blocks, "block"),
        light=drawing.theme_css(dark=False),
        dark=drawing.theme_css(dark=True),
    )


def _flat(row: Row | None) -> dict[str, Any]:
    """Return a row with its statistics side by side; None gives the names alone."""
    interval, ratio = (row.interval, row.ratio) if row else (None, None)
    estimate = ratio.estimate if ratio else None
    return {
        "workload": row and row.key.workload,
        "contender": row and row.key.contender,
        "params": dict(row.key.params) if row else {},
        "metric": row and row.key.metric,
        "unit": row and row.unit,
        "blocks": row and row.blocks,
        "level": row and row.level,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "ratio": ratio and ratio.mean,
        "ratio_low": estimate and estimate.low,
        "ratio_high": estimate and estimate.high,
        "resolution": ratio and ratio.resolution,
        "claimed": ratio and ratio.claimed,
    }


def _markdown_table(table: Table) -> str:
    def line(cells: Any) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"

    rule = ["---"] * len(table.headings)
    return "\n".join([line(table.headings), line(rule), *map(line, table.rows)])


def _tone(cell: str) -> str:
    """Return the class of a cell that is a verdict."""
    return {"within": "good", "inside": "good", "outside": "bad", SAME: "open", "-": "open"}.get(cell, "")
