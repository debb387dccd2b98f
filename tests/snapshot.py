"""Writes sql/catalog.txt anew and prints the pins of sql/ for the newest revision: ``make snapshot``, after a change to sql/.

Only until that revision is released: a released text moves to ``sql/superseded/<revision>/`` when a newer one replaces it.
"""

from __future__ import annotations

import sys

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from shardflake import assets, install
from shardflake.alembic import execute_pinned
from shardflake.connect import make_engine
from shardflake.server import LocalServer


def main() -> None:
    pins = assets.pins(assets.manifest())
    with LocalServer(settings={"fsync": "off"}) as server, make_engine(server.url()).begin() as connection:
        execute_pinned(Operations(MigrationContext.configure(connection)), "head", pins)
        (assets.sql_dir() / "catalog.txt").write_text(install.catalog(connection), encoding="utf-8")
    for name, pin in pins.items():
        sys.stdout.write(f'    "{name}": "{pin}",\n')


if __name__ == "__main__":
    main()
