"""Find and read the SQL files and migrations, in a wheel or a checkout.

A convention makes every file fit every driver: a blank line ends a statement, and no statement contains one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from shardflake.errors import InstallationError

_PACKAGE = Path(__file__).parent


@cache
def _root() -> Path:
    """Return the directory that holds ``sql/`` and ``migrations/``: the package in a wheel, the checkout otherwise."""
    for candidate in (_PACKAGE, _PACKAGE.parents[1]):
        if (candidate / "sql" / "install.sql").is_file():
            return candidate
    raise InstallationError(f"the SQL files of shardflake are neither in {_PACKAGE} nor beside it; reinstall the package")


def sql_dir() -> Path:
    """Return the directory of the SQL files, the one to run ``psql -f install.sql`` in."""
    return _root() / "sql"


def migrations_dir() -> Path:
    """Return the directory of the Alembic environment."""
    return _root() / "migrations"


def read(name: str) -> str:
    """Return the text of a SQL file at head.

    :param name: path below the SQL directory, such as ``functions/next_id.sql``.
    """
    return (sql_dir() / name).read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    """Return the first 12 hex digits of the text's SHA-256, by which revisions pin files."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def pinned(name: str, pin: str, revision: str) -> str:
    """Return a file's text as a revision released it, whatever head says now.

    :param name: path below the SQL directory.
    :param pin: fingerprint that the revision recorded.
    :param revision: where to look if head has moved on: ``superseded/<revision>/``.
    :raises InstallationError: if neither text has the fingerprint: a released file was edited or is missing.
    """
    for candidate in (sql_dir() / name, sql_dir() / "superseded" / revision / name):
        if candidate.is_file() and fingerprint(text := candidate.read_text(encoding="utf-8")) == pin:
            return text
    raise InstallationError(
        f"no text of {name} has the fingerprint {pin} that revision {revision} released; "
        f"the file was edited or is missing in {sql_dir()}: reinstall the package"
    )


def manifest() -> list[str]:
    """Return the files that make an installation at head, in the order of their dependencies, without ``version.sql``."""
    files = re.findall(r"^\\ir (\S+)$", read("install.sql"), re.MULTILINE)
    return [name for name in files if name != "version.sql"]


def statements(text: str) -> list[str]:
    """Split a SQL file into its statements, without comments that stand alone."""
    blocks = (re.sub(r"^--.*\n?", "", block, flags=re.MULTILINE).strip() for block in text.split("\n\n"))
    return [block for block in blocks if block]


def pins(names: list[str]) -> Mapping[str, str]:
    """Return the fingerprints of files at head, as a new revision records them."""
    return {name: fingerprint(read(name)) for name in names}
