"""How much a run does: written down before it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """Sizes of the workloads.

    :param blocks: randomised blocks by workload; a workload that is not named runs ``other_blocks`` times.
    :param bulk_rows: rows of a bulk load.
    :param uncached_rows: rows of a bulk load whose uuid index has 4 times the size of shared_buffers; 0 leaves it out.
    :param wal_blocks: in how many blocks of the bulk load WAL is taken apart, which takes longer than the load.
    :param session_rows: rows of each pgbench run, all sessions together.
    :param clients: sessions at once.
    :param disorder_rows: rows of each index of the disorder sweep.
    :param windows: jitter of the sweep, as multiples of a leaf's capacity.
    :param live_rows: rows that writers insert for the named cases of the sweep.
    :param index_rows: rows of the other index workloads.
    :param checkpoint_rows: rows that an index has before full-page images are counted.
    :param checkpoint_x: rows per leaf between two checkpoints.
    :param shared_buffers: of an embedded server.
    """

    name: str
    blocks: dict[str, int] = field(default_factory=dict)
    other_blocks: int = 3
    bulk_rows: int = 1_000_000
    uncached_rows: int = 0
    wal_blocks: int = 2
    session_rows: int = 20_000
    clients: tuple[int, ...] = (1, 8)
    disorder_rows: int = 300_000
    windows: tuple[float, ...] = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 16, 64, 256)
    live_rows: int = 100_000
    index_rows: int = 200_000
    checkpoint_rows: int = 400_000
    checkpoint_x: tuple[float, ...] = (0.1, 0.3, 1, 3)
    shared_buffers: str = "512MB"

    def blocks_of(self, workload: str) -> int:
        """Return how many blocks a workload has."""
        return self.blocks.get(workload, self.other_blocks)

    @property
    def disk_bytes(self) -> int:
        """About the most that a run has on disk at once: tables, indexes, and WAL until it is used again."""
        largest = max(self.bulk_rows, self.uncached_rows, self.index_rows * 2, self.disorder_rows)
        return largest * 250 + min(largest * 600, 16 << 30) + (512 << 20)


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "quick",
            other_blocks=1,
            blocks={"bulk": 2, "autocommit": 2, "transactions50": 2, "overhead": 2},
            bulk_rows=50_000,
            wal_blocks=1,
            session_rows=2000,
            clients=(1, 8),
            disorder_rows=60_000,
            windows=(0, 0.5, 1, 2, 4, 16, 64),
            live_rows=20_000,
            index_rows=40_000,
            checkpoint_rows=120_000,
            checkpoint_x=(0.3, 1, 3),
        ),
        Profile(
            "standard",
            other_blocks=2,
            blocks={"bulk": 10, "autocommit": 10, "transactions50": 10, "reads": 10, "checkpoint": 1, "overhead": 10},
            wal_blocks=1,
            session_rows=10_000,
            disorder_rows=200_000,
            index_rows=100_000,
        ),
        Profile(
            "full",
            other_blocks=10,
            bulk_rows=5_000_000,
            uncached_rows=13_000_000,
            session_rows=200_000,
            clients=(1, 2, 4, 8, 16, 32),
            disorder_rows=1_000_000,
            live_rows=400_000,
            index_rows=1_000_000,
            shared_buffers="128MB",
        ),
    )
}
