"""The wheel alone, in a clean environment without the checkout, installs the generator."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import assets
from tests.conftest import dsn
from tests.sql.test_functions import scalar

pytestmark = pytest.mark.xdist_group("wheel")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    target = tmp_path_factory.mktemp("dist")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--disable-pip-version-check",
        "-w",
        str(target),
        str(ROOT),
    ]
    subprocess.run(build, check=True)
    return next(target.glob("shardflake-*.whl"))


def test_it_holds_the_sql_files_the_migrations_and_the_type_marker(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for directory in (assets.sql_dir(), assets.migrations_dir()):
        for path in directory.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"shardflake/{path.relative_to(directory.parent)}" in names
    assert "shardflake/py.typed" in names
    assert not [name for name in names if name.startswith("tests/")]


def test_it_upgrades_a_database_from_a_clean_environment(wheel: Path, database: sa.Engine, tmp_path: Path) -> None:
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[binary]"]
    subprocess.run(install, check=True)
    command = [str(environment / "bin" / "shardflake"), "db", "upgrade", "--url", dsn(database), "--shard-id", "77"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(dsn(database), autocommit=True) as connection:
        assert scalar(connection, "select shardflake.shard_of(shardflake.next_id())") == 77
