"""Tables of what a reader needs to judge the charts: physics, correctness, surroundings, and what could not be measured."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from shardflake.bench.reporting.summary import Summary
from shardflake.bench.reporting.words import NOTHING, Section, Table, metric_label, names, plural, significant, told

_CORRECTNESS = (("duplicates", "duplicates"), ("order_inversions", "order inversions"))
_OFF = ("off", "false", "no", "0")


def physics(summary: Summary) -> Section:
    """Return the section of predicted against measured."""
    section = Section("physics", "Physics: predicted against measured")
    rows, missed = [], []
    found = sorted(summary.results.physics, key=lambda each: (each.fields["quantity"], summary.results.order(each.contender)))
    for each in found:
        predicted, measured = float(each.fields["predicted"]), float(each.fields["measured"])
        tolerance, quantity = float(each.fields["tolerance"]), str(each.fields["quantity"])
        points = "density" in quantity
        distance = measured - predicted if points else (measured / predicted - 1 if predicted else measured)
        good = abs(distance) <= tolerance
        what = f"{metric_label(quantity)}{', ' + told(each.params) if told(each.params) else ''}"
        if not good:
            missed.append(f"{what} of {summary.results.label(each.contender)}")
        unit = "points" if points else "%"
        rows.append(
            [
                summary.results.label(each.contender),
                what,
                significant(predicted),
                significant(measured),
                f"{distance * 100:+.1f} {unit}",
                f"±{tolerance * 100:g} {unit}",
                "within" if good else "outside",
            ]
        )
    if not rows:
        section.missing = "This run holds no predictions."
        return section
    section.tables = [Table(["key", "quantity", "predicted", "measured", "distance", "allowed", "verdict"], rows)]
    section.sentence = f"{len(rows) - len(missed)} of {len(rows)} predictions hold within what was allowed before the run" + (
        f"; outside are {names(missed)}." if missed else "."
    )
    formulas = sorted({str(each.fields["formula"]) for each in summary.results.physics if each.fields.get("formula")})
    if formulas:
        section.notes = [f"Formulas, with their sources, stand in the documentation under: {', '.join(formulas)}."]
    return section


def correctness(summary: Summary) -> Section:
    """Return the section of duplicates and order inversions, beside speed."""
    section = Section("correctness", "Correctness beside speed")
    counted: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for each in summary.results.findings:
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
    controls = [each for each in summary.results.contenders.values() if each.control]
    section.notes = [f"{each.label} is a control: {each.control}." for each in controls if each.name in counted]
    return section


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
