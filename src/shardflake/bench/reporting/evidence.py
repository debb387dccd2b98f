"""Tables of what a reader needs to judge the charts: physics, correctness, surroundings, and what could not be measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shardflake.bench.physics import FORMULAS
from shardflake.bench.reporting.summary import Summary
from shardflake.bench.reporting.words import (
    NOTHING,
    Section,
    Table,
    metric_label,
    names,
    plural,
    significant,
    told,
    workload_label,
)
from shardflake.bench.statistics import Estimate, estimate, ratio_within_blocks
from shardflake.bench.storage import Record

_CORRECTNESS = (("duplicates", "duplicates"), ("order_inversions", "order inversions"))
_DRAWN = ("autocommit", "transactions50", "disorder")
"""Workloads whose keys several sessions draw from the server while they insert, as applications do."""
_OFF = ("off", "false", "no", "0")


def physics(summary: Summary) -> Section:
    """Return the section of predicted against measured: a count for each quantity, each key's own, and what is outside."""
    section = Section("physics", "Physics: predicted against measured")
    found = [Prediction.of(each) for each in summary.results.physics]
    if not found:
        section.missing = "This run holds no predictions."
        return section
    missed = [each for each in found if not each.holds]
    section.tables = [_physics_counts(found), *_physics_by_key(summary, found)]
    if missed:
        rows = [
            [
                summary.results.label(each.record.contender),
                f"{workload_label(each.record.workload)}, {metric_label(each.quantity)}",
                told(each.record.params, without=("distance", "bits")) or NOTHING,
                f"{significant(each.predicted)} → {significant(each.measured)}",
                each.distance_text,
                "outside",
            ]
            for each in missed
        ]
        headings = ["key", "quantity", "case", "predicted → measured", "distance", "verdict"]
        section.tables.append(Table(headings, rows, "Outside what was allowed:"))
    listed = list(
        dict.fromkeys(f"{metric_label(each.quantity)} of {summary.results.label(each.record.contender)}" for each in missed)
    )
    section.sentence = (
        f"{len(found) - len(missed)} of {plural(len(found), 'prediction')} hold within what was allowed before the run"
        + (f"; outside {'is' if len(listed) == 1 else 'are'} {names(listed)}." if missed else ".")
    )
    formulas = {str(each.record.fields["formula"]) for each in found if each.record.fields.get("formula")}
    if formulas & FORMULAS.keys():
        rows = [[name, formula.text, formula.source] for name, formula in FORMULAS.items()]  # they refer to each other
        section.tables.append(Table(["formula", "what it says", "source"], rows))
    return section


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a formula says beside what was measured; densities differ by points, all else relatively."""

    record: Record
    quantity: str
    predicted: float
    measured: float
    tolerance: float

    @classmethod
    def of(cls, record: Record) -> Prediction:
        """Take the numbers out of a record."""
        fields = record.fields
        numbers = (float(fields[name]) for name in ("predicted", "measured", "tolerance"))
        return cls(record, str(fields["quantity"]), *numbers)

    @property
    def distance(self) -> float:
        """How far the measured value lies above the predicted one."""
        if "density" in self.quantity:
            return self.measured - self.predicted
        return self.measured / self.predicted - 1 if self.predicted else self.measured

    @property
    def holds(self) -> bool:
        """Whether the distance is no larger than was allowed."""
        return abs(self.distance) <= self.tolerance

    @property
    def distance_text(self) -> str:
        """The distance as tables show it."""
        return f"{self.distance * 100:+.1f} {self.unit}"

    @property
    def unit(self) -> str:
        """The unit of a distance times 100."""
        return "points" if "density" in self.quantity else "%"


def _physics_counts(found: Sequence[Prediction]) -> Table:
    groups: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    for each in found:
        groups[each.record.workload, each.quantity].append(each)
    rows = []
    for (workload, quantity), all_ in groups.items():
        farthest = max(all_, key=lambda each: abs(each.distance))
        allowed = f"±{max(each.tolerance for each in all_) * 100:g} {farthest.unit}"
        held = sum(each.holds for each in all_)
        verdict = "within" if held == len(all_) else "outside"
        what = f"{metric_label(quantity)}, {workload_label(workload)}" if workload else metric_label(quantity)
        rows.append([what, f"{held} of {len(all_)}", farthest.distance_text, allowed, verdict])
    return Table(["quantity", "hold", "largest distance", "allowed", "verdict"], rows)


def _physics_by_key(summary: Summary, found: Sequence[Prediction]) -> list[Table]:
    """Return predicted → measured of each key in the loads; the sweep over disorder has its chart."""
    loads = [each for each in found if each.record.workload in ("", "bulk")]
    quantities = list(dict.fromkeys(each.quantity for each in loads))
    cells: dict[str, dict[str, str]] = defaultdict(dict)
    for each in sorted(loads, key=lambda each: summary.results.order(each.record.contender)):
        text = f"{significant(each.predicted)} → {significant(each.measured)}\n{each.distance_text}"
        cells[each.record.contender][each.quantity] = text
    rows = [[summary.results.label(name), *(row.get(each, NOTHING) for each in quantities)] for name, row in cells.items()]
    headings = ["key", *map(metric_label, quantities)]
    return [Table(headings, rows, "Predicted → measured, and below it the distance:")] if rows else []


def correctness(summary: Summary) -> Section:
    """Return the section of duplicates and order inversions, beside speed."""
    section = Section("correctness", "Correctness beside speed")
    counted: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    drawn = [each for each in summary.results.findings if each.workload in _DRAWN]
    for each in drawn or summary.results.findings:
        sums = counted[each.contender][str(each.fields["what"])]
        sums[0] += int(each.fields["count"])
        sums[1] += int(each.fields["of"])
    if not counted:
        section.missing = "Neither duplicates nor order were counted in this run."
        return section
    params = summary.main_case("autocommit", "rows_per_second") or ()
    shown = [what for what, _ in _CORRECTNESS] + sorted(
        {what for all_ in counted.values() for what in all_} - {what for what, _ in _CORRECTNESS}
    )
    headings = ["key", *(dict(_CORRECTNESS).get(what, what.replace("_", " ")) for what in shown), "rows/s, autocommit"]
    rows = []
    for name in sorted(counted, key=summary.results.order):
        speed = summary.get("autocommit", "rows_per_second", name, params)
        rate = f"{speed.level:,.0f}" + (f"\n{speed.ratio.text()}" if speed.ratio else "") if speed else NOTHING
        cells = [f"{found[0]:,} of {found[1]:,}" if (found := counted[name].get(what)) else NOTHING for what in shown]
        rows.append([summary.results.label(name), *cells, rate])
    section.tables = [Table(headings, rows)]
    repeated = {name: all_["duplicates"] for name, all_ in counted.items() if all_["duplicates"][0]}
    checked = sum(all_["duplicates"][1] for all_ in counted.values())
    if repeated:
        listed = [
            f"{summary.results.label(name)} ({plural(count, 'duplicate')} in {of:,})" for name, (count, of) in repeated.items()
        ]
        section.sentence = f"Keys were repeated by {names(listed)}: speed bought with such keys is not comparable."
    else:
        section.sentence = f"No key was repeated among the {checked:,} that were checked."
    ordered = [
        summary.results.label(name)
        for name, all_ in counted.items()
        if all_["order_inversions"][1] and not all_["order_inversions"][0]
    ]
    if ordered:
        section.sentence += f" Without a single inversion of order: {names(ordered)}."
    if drawn:
        section.notes = [
            "Counted among rows whose keys sessions drew from the server while they inserted. An inversion is a row that came "
            "into the table after one with a larger key: between drawing and inserting, sessions overtake each other."
        ]
    controls = [each for each in summary.results.contenders.values() if each.control]
    section.notes += [f"{each.label} is a control: {each.control}." for each in controls if each.name in counted]
    return section


def overhead(summary: Summary) -> Section:
    """Return the section of what the runner adds to what it measures."""
    section = Section("overhead", "What the runner adds")
    found = {metric: _to_bare(summary, metric) for metric in ("cpu_us_per_row", "rows_per_second")}
    if not any(found.values()):
        section.missing = "The runner was not measured against bare pgbench in two blocks or more of this run."
        return section
    words = {
        "cpu_us_per_row": "takes {} the processor time a row, server and client together",
        "rows_per_second": "reaches {} the rows/s",
    }
    parts = [
        words[metric].format(f"{ratio.mean:.3f} times") + f" (95 % interval {ratio.low:.3f} to {ratio.high:.3f})"
        for metric, ratio in found.items()
        if ratio
    ]
    section.sentence = f"Beside bare pgbench, pgbench with a log of latencies, as the benchmark runs it, {' and '.join(parts)}."
    return section


def _to_bare(summary: Summary, metric: str) -> Estimate | None:
    """Return a metric of the runner's pgbench by that of bare pgbench; None with fewer than two blocks."""
    by_runner = {str(dict(key.params).get("runner")): blocks for key, blocks in summary.results.of("overhead", metric)}
    ratios = ratio_within_blocks(by_runner.get("ours", {}), by_runner.get("bare", {}))
    return estimate(ratios) if len(ratios) > 1 else None


def unavailable(summary: Summary) -> Section:
    """Return the section of what could not be measured, with the grant that would give it."""
    section = Section("unavailable", "What could not be measured")
    found = summary.results.header.get("unavailable") or []
    if not found:
        section.sentence = "Nothing that was asked for was out of reach."
        return section
    rows = [[str(each["metric"]), str(each["reason"]), str(each.get("grant") or NOTHING)] for each in found]
    section.tables = [Table(["metric", "reason", "what would give it"], rows)]
    section.sentence = f"{plural(len(rows), 'metric')} could not be had: no number above stands in for them."
    return section


def surroundings(summary: Summary) -> Section:
    """Return the section of machine, server, settings, contenders and notes."""
    header = summary.results.header
    machine, server = header.get("machine") or {}, header.get("server") or {}
    commit = str(header.get("commit") or "none")[:12] + (", with changes not committed" if header.get("dirty") else "")
    options = server.get("build_options") or []
    facts = [
        ["profile", str(header.get("profile", NOTHING))],
        ["started", str(header.get("started", NOTHING))],
        ["seed", str(header.get("seed", NOTHING))],
        ["commit", commit],
        ["samples", f"{summary.results.samples:,} in {plural(summary.blocks, 'block')}"],
        ["processor", f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores"],
        ["memory", _memory(machine.get("memory_bytes"))],
        ["system", f"{machine.get('os', 'unknown')}, Python {machine.get('python', '?')}"],
        ["server", str(server.get("version", "unknown"))],
        ["built with OpenSSL", "yes" if server.get("ssl_library") else "no: its uuid functions are several times slower"],
        ["build options", " ".join(map(str, options)) if isinstance(options, list) else str(options)],
    ]
    if summary.results.seconds:
        facts.append(["took", f"{summary.results.seconds:,.0f} s"])
    section = Section("surroundings", "Machine, server, settings")
    settings = [[name, str(value)] for name, value in sorted(summary.settings.items())]
    notes = [[each.label, each.note] for each in summary.results.contenders.values() if each.note]
    section.tables = [Table(["of this run", ""], facts)]
    if settings:
        section.tables.append(Table(["setting", "value"], settings))
    if notes:
        section.tables.append(Table(["key", "note"], notes))
    section.notes = list(summary.results.notes)
    section.sentence = "Times hold for this machine, this server and these settings; bytes, density and splits travel better."
    return section


def alarms(summary: Summary) -> list[str]:
    """Return what has to stand in red above everything: warnings of the run and of its file."""
    found = list(summary.results.warnings)
    fsync = str(summary.settings.get("fsync", "on")).lower()
    if fsync in _OFF and not any("fsync" in each for each in found):
        found.insert(0, "fsync is off: commits cost less than on a server that keeps them.")
    return found


def _memory(value: Any) -> str:
    return f"{value / 2**30:.1f} GB" if isinstance(value, int | float) else "unknown"
