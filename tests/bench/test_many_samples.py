"""A report from ten million raw samples: its time and its memory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.synthetic import CONTENDERS, records, sample, write

SAMPLES = 10_000_000
_SCRIPT = """
import resource, sys
from pathlib import Path
from shardflake.bench import reporting
reporting.write(Path(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def add_samples(directory: Path, count: int) -> None:
    """Append raw latencies to a run, each with a value of its own, interleaved over contenders and blocks."""
    kinds = [
        json.dumps(sample("transactions50", name, block, {"clients": 4}, "latency_us", 0, "us")).split('"value": 0')
        for block in range(1, 5)
        for name, *_ in CONTENDERS
    ]
    with (directory / "results.ndjson").open("a") as file:
        for first in range(0, count, 100_000):
            numbers = range(first, min(first + 100_000, count))
            file.writelines(
                f'{kinds[n % len(kinds)][0]}"value": {n % 9973 + n / count:.6f}{kinds[n % len(kinds)][1]}\n' for n in numbers
            )


@pytest.mark.torture
def test_ten_million_samples_take_a_minute_and_a_gibibyte_at_most(tmp_path: Path) -> None:
    everything = list(records())
    write(tmp_path, everything)
    add_samples(tmp_path, SAMPLES)
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", _SCRIPT, str(tmp_path)], capture_output=True, text=True, check=True)
    took, memory = time.monotonic() - started, int(done.stdout)
    print(f"{SAMPLES:,} samples: {took:.1f} s, {memory / 2**20:.0f} MiB")
    assert took < 60
    assert memory < 2**30
    counted = SAMPLES + sum(each["kind"] == "sample" for each in everything)
    assert f"{counted:,} in 4 blocks" in (tmp_path / "report.md").read_text()
