"""What was written to WAL, and by what, from pg_walinspect.

By pg_get_wal_records_info(): it is there from PostgreSQL 15 on, and its texts hold the relation, page, level and offset.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from psycopg import sql

from shardflake.bench import copying
from shardflake.bench.keys import Keys
from shardflake.bench.scratch import Bench

_GROUPS = r"""
select resource_manager, record_type, (regexp_match(block_ref, 'rel \d+/\d+/(\d+)'))[1]::bigint,
       coalesce((regexp_match(description, 'level:? (\d+)'))[1]::integer, 0),
       count(*), sum(record_length - fpi_length), sum(fpi_length), count(*) filter (where fpi_length > 0)
  from pg_get_wal_records_info(%s, %s)
 group by 1, 2, 3, 4
"""

_TOUCHED = r"""
with leaf as (
  select (regexp_match(block_ref, 'blk (\d+)'))[1]::bigint as block, start_lsn
    from pg_get_wal_records_info(%s, %s)
   where resource_manager = 'Btree' and record_type in ('INSERT_LEAF', 'SPLIT_L', 'SPLIT_R')
     and (regexp_match(block_ref, 'rel \d+/\d+/(\d+)'))[1] = pg_relation_filenode(%s::regclass)::text
     and coalesce((regexp_match(description, 'level:? (\d+)'))[1], '0') = '0'
)
select width_bucket(start_lsn - '0/0'::pg_lsn, %s::numeric[]) - 1, place, count(distinct block)
  from leaf join unnest(%s::bigint[], %s::integer[]) as p (block, place) using (block)
 group by 1, 2
"""

_INSERTED = r"""
with inserts as (
  select start_lsn,
         format('(%%s,%%s)', (regexp_match(block_ref, 'blk (\d+)'))[1],
                             (regexp_match(description, 'off:? (\d+)'))[1])::tid as tid
    from pg_get_wal_records_info({}, {})
   where resource_manager = 'Heap' and record_type like 'INSERT%%'
     and (regexp_match(block_ref, 'rel \d+/\d+/(\d+)'))[1] = pg_relation_filenode({}::regclass)::text
)
select id from inserts join {} as l on l.ctid = tid order by start_lsn
"""


@dataclass(slots=True)
class Written:
    """WAL of one table and its index, in bytes, and the index's splits.

    :param parts: bytes by metric: wal_heap, wal_index_insert, wal_split, wal_index_fpi, wal_sequence.
    :param total: everything between the two positions, other sessions' records included.
    :param splits: left, right: leaves, by the half that the new row went to; interior: pages above the leaves.
    :param images: of leaves, how many; and ``image_bytes`` of them.
    """

    total: int
    parts: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    images: int = 0
    image_bytes: int = 0

    def add(self, more: Written) -> None:
        """Add what was written between two other positions."""
        self.total += more.total
        self.parts.update(more.parts)
        self.splits.update(more.splits)
        self.images += more.images
        self.image_bytes += more.image_bytes

    @property
    def other(self) -> int:
        """Bytes that belong to none of the parts: commits, page headers, padding."""
        return self.total - sum(self.parts.values())


def position(bench: Bench) -> int:
    """Return where the next record will be written, in bytes."""
    return int(bench.one("select pg_current_wal_insert_lsn() - '0/0'")[0])


def attribute(bench: Bench, start: int, end: int, table: str, indexes: list[str]) -> Written:
    """Return what was written for a table and its indexes between two positions."""
    _flush(bench)
    (heap,) = bench.one("select pg_relation_filenode(%s::regclass)", table)
    trees = {bench.one("select pg_relation_filenode(%s::regclass)", index)[0] for index in indexes}
    written = Written(end - start)
    for manager, kind, relation, level, count, length, images, imaged in bench.connection.execute(
        _GROUPS.encode(), (_lsn(start), _lsn(end))
    ):
        if manager == "Sequence":
            written.parts["wal_sequence"] += int(length + images)
        elif relation == heap:
            written.parts["wal_heap"] += int(length + images)
        elif relation in trees:
            written.parts["wal_index_fpi"] += int(images)
            if kind == "INSERT_LEAF" or (kind in ("SPLIT_L", "SPLIT_R") and not level):
                written.images += imaged
                written.image_bytes += int(images)
            split = kind.startswith(("SPLIT", "NEWROOT"))
            written.parts["wal_split" if split else "wal_index_insert"] += int(length)
            if kind.startswith("SPLIT"):
                written.splits["interior" if level else {"SPLIT_L": "left", "SPLIT_R": "right"}[kind]] += count
    return written


def touched(bench: Bench, marks: list[int], index: str, places: dict[int, int], rows: int) -> list[list[int]]:
    """Return how many distinct leaves were written, by place in key order and slice of time.

    :param marks: positions in WAL where slices begin, and the end.
    :param places: row of the result by number of leaf page.
    """
    _flush(bench)
    counts = [[0] * (len(marks) - 1) for _ in range(rows)]
    arguments = (_lsn(marks[0]), _lsn(marks[-1]), index, marks, list(places), list(places.values()))
    for column, row, count in bench.connection.execute(_TOUCHED.encode(), arguments):
        if 0 <= column < len(marks) - 1:
            counts[row][column] = count
    return counts


def inserted(bench: Bench, start: int, end: int, table: str) -> Keys:
    """Return the keys of a table in the order in which their rows were inserted, across all sessions."""
    _flush(bench)
    query = sql.SQL(_INSERTED.replace("%%", "%")).format(
        sql.Literal(_lsn(start)), sql.Literal(_lsn(end)), sql.Literal(table), sql.Identifier(table)
    )
    return copying.fetch(bench.connection, query)


def _flush(bench: Bench) -> None:
    """Make WAL readable up to now: a commit that waits for it does, whatever committed asynchronously before."""
    bench.connection.execute("create table if not exists flushed (); drop table flushed")


def _lsn(place: int) -> str:
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"
