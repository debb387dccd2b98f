"""The state of a fleet as Prometheus text; see docs/fleet-monitoring.md for what to watch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from shardflake.fleet.file import Shard
from shardflake.fleet.pool import Failure
from shardflake.install import Status

_READY = ("confirmed", "confirmed, cluster unknown")
_ALWAYS_ALLOWED = timedelta(milliseconds=127)  # what a busy shard may run ahead of its clock, whatever max_lead says
_METRICS: tuple[tuple[str, str], ...] = (
    ("up", "1 if the shard answered."),
    ("ready", "1 if the shard would issue an id: identity confirmed, and not further ahead of its clock than allowed."),
    ("info", "Always 1; what the shard is stands in the labels."),
    ("lead_seconds", "How far the newest ids are ahead of the clock."),
    ("max_lead_seconds", "Lead at which the shard refuses to issue ids."),
    ("clock_timestamp_seconds", "The server's clock, in seconds since 1970."),
    ("high_water_timestamp_seconds", "The high-water mark, in seconds since 1970: no id lies above."),
    ("ids_per_ms_peak", "Most ids per millisecond since the server started."),
    ("ids_per_ms_limit", "Ids per millisecond that the layout allows."),
    ("years_left", "Years until the time field ends."),
    ("logical_shards", "Shard ids that the database may issue, its own included."),
)


def text(states: Mapping[Shard, Status | Failure]) -> str:
    """Return the metrics of all shards in Prometheus' text format; of a silent shard, ``shardflake_up 0`` alone."""
    samples: dict[str, list[str]] = {name: [] for name, _ in _METRICS}
    for shard, state in states.items():
        for name, (labels, value) in _samples(state).items():
            pairs = ",".join(f'{key}="{_escaped(label)}"' for key, label in {"shard": shard.name, **labels}.items())
            samples[name].append(f"shardflake_{name}{{{pairs}}} {value:.15g}")
    lines = []
    for name, meaning in _METRICS:
        if samples[name]:
            lines += [f"# HELP shardflake_{name} {meaning}", f"# TYPE shardflake_{name} gauge", *samples[name]]
    return "\n".join(lines) + "\n"


def ready(state: Status) -> bool:
    """Say whether a shard would issue an id now."""
    return state.identity in _READY and (state.lead is None or state.lead <= max(state.max_lead, _ALWAYS_ALLOWED))


def _samples(state: Status | Failure) -> dict[str, tuple[dict[str, str], float]]:
    if isinstance(state, Failure):
        return {"up": ({}, 0)}
    labels = {
        "shard_id": "" if state.shard_id is None else str(state.shard_id),
        "revision": state.revision or "",
        "identity": state.identity,
        "layout": state.layout,
    }
    values: dict[str, float | None] = {
        "up": 1,
        "ready": ready(state),
        "lead_seconds": state.lead.total_seconds() if state.lead is not None else None,
        "max_lead_seconds": state.max_lead.total_seconds(),
        "clock_timestamp_seconds": state.clock.timestamp(),
        "high_water_timestamp_seconds": state.high_water.timestamp(),
        "ids_per_ms_peak": state.ids_per_ms_peak,
        "ids_per_ms_limit": state.ids_per_ms_limit,
        "years_left": state.years_left,
        "logical_shards": len(state.logical_shards),
    }
    known: dict[str, tuple[dict[str, str], float]] = {name: ({}, value) for name, value in values.items() if value is not None}
    return known | {"info": (labels, 1)}


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
