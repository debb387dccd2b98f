"""The kinds of keys that are compared: each fills the same table, ``load``, in its own way."""

from __future__ import annotations

from dataclasses import dataclass

PAYLOAD = "forty bytes of payload, alike for everyone"
_BULK = f"insert into load (payload) select '{PAYLOAD}' from generate_series(1, 1000)"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Contender:
    """A kind of key.

    :param name: stands in samples.
    :param label: stands in tables.
    :param key: definition of the column ``id``.
    :param bulk: inserts 1,000 rows into ``load``.
    :param by_default: whether the column's default makes the key, so that single rows and COPY can be measured too.
    :param unique: whether ``id`` is the primary key; False where duplicates are to be counted, not refused.
    :param since: oldest server that has it, as ``server_version_num``.
    """

    name: str
    label: str
    key: str
    bulk: str = _BULK
    by_default: bool = True
    unique: bool = True
    since: int = 150000

    def ddl(self) -> list[str]:
        """Return the statements that make an empty table ``load``."""
        table = f"create table load (id {self.key}, payload text not null) with (autovacuum_enabled = off)"
        if self.unique:
            return [table, "alter table load add constraint load_id primary key (id)"]
        return [table, "create index load_id on load (id)"]


BASELINE = "bigserial"
AGAIN = "bigserial A/A"

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender(BASELINE, "bigserial", "bigserial"),
        Contender(AGAIN, "bigserial A/A", "bigserial"),
        Contender("shardflake", "shardflake", "bigint default shardflake.next_id()"),
        Contender(
            "next_ids",
            "next_ids(1000)",
            "bigint",
            bulk=f"insert into load (id, payload) select id, '{PAYLOAD}' from shardflake.next_ids(1000) as id",  # noqa: S608
            by_default=False,
        ),
        Contender("uuidv7", "uuidv7()", "uuid default uuidv7()", since=180000),
        Contender("uuidv4", "gen_random_uuid()", "uuid default gen_random_uuid()"),
        Contender("instagram", "Instagram", "bigint default instagram.next_id()", unique=False),
    )
}
SINGLE_ROW = f"insert into load (payload) values ('{PAYLOAD}')"  # noqa: S608
