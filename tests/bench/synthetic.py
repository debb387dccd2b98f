"""Made-up results in the format of ``shardflake bench``: their machine is called "synthetic", they prove nothing about keys."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CONTENDERS = (
    # name, label, bytes wide, index bytes/row, density, relative speed
    ("bigserial", "bigserial", 8, 22.4, 0.898, 1.0),
    ("bigserial-aa", "bigserial A/A", 8, 22.4, 0.898, 1.0),
    ("bigserial-cache32", "bigserial CACHE 32", 8, 24.1, 0.84, 1.05),
    ("shardflake", "shardflake", 8, 22.4, 0.898, 0.85),
    ("instagram", "Instagram", 8, 25.3, 0.777, 0.45),
    ("uuidv4", "UUIDv4", 16, 40.6, 0.69, 0.4),
    ("uuidv7", "UUIDv7", 16, 31.4, 0.898, 0.6),
    ("uuidv7-ms", "UUIDv7, ms only", 16, 45.0, 0.61, 0.55),
    ("uuid-text", "UUID as text", 36, 71.0, 0.66, 0.3),
)
PARTS = {"wal_heap": 80.0, "wal_index_insert": 60.0, "wal_split": 4.0, "wal_index_fpi": 9.0, "wal_other": 6.0}
SCENARIOS = (("v4 to shardflake", 0.69, 0.71), ("40 future rows", 0.9, 0.5), ("clock step back", 0.9, 0.89))


def header(cpu: str = "synthetic", **changes: Any) -> dict[str, Any]:
    """Return a header; ``changes`` replace its fields."""
    contenders = [
        {"name": name, "label": label, "type": "", "width_bytes": width, "kind": "keys", "baseline": name == "bigserial"}
        | {"control": "duplicates" if name == "instagram" else None, "note": ""}
        for name, label, width, *_ in CONTENDERS
    ]
    settings = {"shared_buffers": "16MB", "fsync": "off", "wal_compression": "off"}
    return {
        "kind": "header",
        "format": 1,
        "profile": "quick",
        "commit": "0123456789abcdef",
        "dirty": True,
        "seed": 7,
        "started": "2026-01-01T00:00:00Z",
        "machine": {"cpu": cpu, "cores": 2, "memory_bytes": 8 << 30, "os": "Linux", "python": "3.11.7"},
        "server": {
            "version": "PostgreSQL 18.0 <synthetic>",
            "version_num": 180000,
            "build_options": ["--without-icu"],
            "settings": settings,
            "ssl_library": False,
        },
        "contenders": contenders,
        "unavailable": [{"metric": "wait samples", "reason": "permission denied", "grant": "grant pg_read_all_stats to bench"}],
        "warnings": ["fsync is off: commits are not durable"],
    } | changes


def sample(
    workload: str, contender: str, block: int, params: dict[str, Any], metric: str, value: float, unit: str = ""
) -> dict[str, Any]:
    """Return a sample."""
    return {
        "kind": "sample",
        "workload": workload,
        "contender": contender,
        "block": block,
        "params": params,
        "metric": metric,
        "value": value,
        "unit": unit,
    }


def records(blocks: int = 4, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield a whole run with something of every kind."""
    noise = random.Random(seed)

    def vary(value: float, by: float = 0.02) -> float:
        return value * math.exp(noise.gauss(0, by))

    yield header()
    for block in range(1, blocks + 1):
        drift = vary(1, 0.2)
        for each in CONTENDERS:
            yield from _loads(block, each, drift, vary)
            yield from _sessions(block, each, drift, vary)
        for runner in ("bare", "ours"):
            place = ("overhead", "bigserial", block, {"clients": 8, "runner": runner})
            yield sample(*place, "rows_per_second", vary(9000, 0.01))
            yield sample(*place, "cpu_us_per_row", vary(40, 0.001))
        for workload in ("bulk", "overhead", "autocommit", "reads", "retention", "secondary", "checkpoint"):
            yield {"kind": "block", "workload": workload, "block": block, "params": {}}
    yield from _scenarios(blocks)
    yield from _disorder(blocks)
    yield from _once()
    yield {"kind": "note", "text": "made up by a test"}
    yield {"kind": "end", "ended": "2026-01-01T00:10:00Z", "seconds": 600.0}


def write(directory: Path, lines: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Path:
    """Write records as a run; return its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "results.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return directory


def _loads(block: int, contender: tuple[Any, ...], drift: float, vary: Callable[..., float]) -> Iterator[dict[str, Any]]:
    name, _, width, size, density, speed = contender
    params = {"rows": 1_000_000, "memory": "cached"}
    values: dict[str, tuple[float, str]] = {
        "index_bytes_per_row": (size, "bytes/row"),
        "index_bytes": (size * 1e6, "bytes"),
        "leaf_density": (density, ""),
        "splits_per_million": (1e6 * size / 8192, "1/million"),
        "rows_per_second": (vary(800_000 * speed * drift), "rows/s"),
        "cpu_us_per_row": (vary(1.2 / speed), "us"),
        "inversions_per_million": (0 if width == 8 else 400_000, "1/million"),
        "wal_bytes_per_row": (sum(PARTS.values()) + width, "bytes/row"),
    }
    for metric, (value, unit) in values.items():
        yield sample("bulk", name, block, params, metric, value, unit)
    for part, value in PARTS.items():
        extra = width if part == "wal_index_insert" else 0
        yield sample("bulk", name, block, params, part, value + extra, "bytes/row")
    rows = [100_000 * step for step in range(1, 21)]
    slope = 0.9 if name in ("uuidv4", "uuid-text") else 0.1
    rates = [vary(800_000 * speed * drift) / (1 + slope * count / 1e6) for count in rows]
    place = {"workload": "bulk", "contender": name, "block": block, "params": params}
    yield {
        "kind": "series",
        **place,
        "name": "insert_rate_by_rows",
        "x": rows,
        "y": rates,
        "x_unit": "rows",
        "y_unit": "rows/s",
    }
    edges = [step / 20 for step in range(21)]
    counts = [round(1000 * math.exp(-(((edge + 0.025 - density) / 0.06) ** 2))) for edge in edges[:-1]]
    yield {"kind": "histogram", **place, "name": "leaf_fill", "edges": edges, "counts": counts, "unit": "fraction"}
    yield sample("secondary", name, block, {"rows": 200_000}, "index_bytes_per_row", size * 1.1, "bytes/row")


def _sessions(block: int, contender: tuple[Any, ...], drift: float, vary: Callable[..., float]) -> Iterator[dict[str, Any]]:
    name, _, _, size, _, speed = contender
    for clients in (1, 2, 4, 8):
        params: dict[str, Any] = {"clients": clients}
        rate = vary(9000 * drift * clients**0.6 * (0.5 + speed / 2))
        yield sample("autocommit", name, block, params, "rows_per_second", rate, "rows/s")
        for metric, factor in (("p50", 1), ("p95", 2), ("p99", 4), ("p999", 15)):
            yield sample("autocommit", name, block, params, f"latency_{metric}_us", vary(1e6 * clients / rate * factor), "us")
        yield sample("autocommit", name, block, params, "looks", 90)
        for kind, share in (("lwlock", 0.2), ("lock", 0.0), ("io", 0.1), ("ipc", 0.0)):
            yield sample("autocommit", name, block, params, f"waiting_{kind}", share, "share")
    for query, base in (("point", 20), ("window", 300), ("page", 60), ("join", 900), ("scan", 90_000)):
        slower: float = 2.5 if query == "scan" and name in ("uuidv4", "uuid-text") else 1
        params = {"query": query, "memory": "cached"}
        yield sample("reads", name, block, params, "read_us", vary(base * slower, 0.03), "us")
    for phase, usual in (("delete", 0.4), ("vacuum", 0.3), ("insert", 0.5)):
        longer = 9 if phase != "insert" and name in ("uuidv4", "uuid-text") else 1
        yield sample("retention", name, block, {"phase": phase}, "seconds", vary(usual * longer), "s")
    place = {"workload": "retention", "contender": name, "block": block, "params": {}}
    sizes = [size * 1e6 * (1 + (0.02 * step if name == "uuidv4" else 0)) for step in range(8)]
    yield {
        "kind": "series",
        **place,
        "name": "size_by_round",
        "x": list(range(8)),
        "y": sizes,
        "x_unit": "round",
        "y_unit": "bytes",
    }
    if name in ("uuidv4", "uuidv7", "bigserial"):
        for x in (0.1, 0.5, 1.0, 3.0, 10.0, 30.0):
            for compression, images in (("off", 5600), ("lz4", 2100)):
                value = vary(images * (1 - math.exp(-x)) / x, 0.01)
                params = {"x": x, "wal_compression": compression}
                yield sample("checkpoint", name, block, params, "wal_index_fpi", value, "bytes/row")


def _scenarios(blocks: int) -> Iterator[dict[str, Any]]:
    for block in range(1, blocks + 1):
        for scenario, before, after in SCENARIOS:
            for moment, density in (("before", before), ("after", after)):
                params = {"scenario": scenario, "moment": moment}
                yield sample("migration", "shardflake", block, params, "leaf_density", density, "")
                yield sample("migration", "shardflake", block, params, "index_bytes", 2e7 / density, "bytes")


def _disorder(blocks: int) -> Iterator[dict[str, Any]]:
    for bits, contender, capacity in ((64, "bigint", 407), (128, "uuid", 291)):
        for ratio, density in (
            (0.0, 0.9),
            (0.01, 0.89),
            (0.1, 0.82),
            (0.5, 0.6),
            (1.0, 0.53),
            (4.0, 0.6),
            (30.0, 0.69),
            (1000.0, 0.69),
        ):
            params: dict[str, Any] = {"ratio": ratio, "bits": bits}
            place = {
                "kind": "physics",
                "workload": "disorder",
                "contender": contender,
                "quantity": "leaf_density",
                "params": params,
            }
            yield place | {
                "predicted": density,
                "measured": density + 0.005,
                "tolerance": 0.02,
                "unit": "",
                "formula": "leaf_model",
            }
            for block in range(1, blocks + 1):
                full = params | {"distance": ratio * capacity, "case": None}
                yield sample("disorder", contender, block, full, "leaf_density", density + 0.005, "")
    for case, contender, ratio, density in (
        ("shardflake, 8 writers", "shardflake", 0.02, 0.89),
        ("CACHE 32 x 8", "bigserial-cache32", 0.6, 0.58),
        ("clocks 2 ms apart", "shardflake", 5.0, 0.61),
    ):
        named: dict[str, Any] = {"ratio": ratio, "distance": ratio * 407, "bits": 64, "case": case}
        yield sample("disorder", contender, 1, named, "leaf_density", density, "")


def _once() -> Iterator[dict[str, Any]]:
    for name, _, width, size, density, _ in CONTENDERS:
        counts = []
        for y in range(40):
            centre = 0.5 if density < 0.75 else None
            counts.append([(3 if centre else int(abs(y / 40 - x / 30) < 0.05) * 40) for x in range(30)])
        x_edges, y_edges = [step * 0.5 for step in range(31)], [step / 40 for step in range(41)]
        yield {"kind": "heatmap", "workload": "bulk", "contender": name, "params": {}} | {
            "x_edges": x_edges,
            "y_edges": y_edges,
            "counts": counts,
        }
        place = {"kind": "finding", "workload": "autocommit", "contender": name, "params": {"clients": 8}}
        yield place | {"what": "duplicates", "count": 186 if name == "instagram" else 0, "of": 1_000_000}
        yield place | {"what": "order_inversions", "count": 0 if name == "shardflake" else 50, "of": 999_999}
        if width in (8, 16):
            yield {
                "kind": "physics",
                "workload": "bulk",
                "contender": name,
                "quantity": "index_bytes_per_row",
                "params": {},
            } | {
                "predicted": size * 1.002,
                "measured": size,
                "tolerance": 0.01 if name != "uuidv7-ms" else 0.001,
                "unit": "bytes/row",
                "formula": "ascending_bytes",
            }
