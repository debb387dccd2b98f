"""What the tests of migrations share: psql, and applications with a migration history of their own."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import alembic
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from shardflake import install
from shardflake.connect import make_engine
from tests.conftest import dsn

Psql = Callable[..., None]

ENV = """
from alembic import context

import shardflake.alembic

OPTIONS = {
    "target_metadata": context.config.attributes["metadata"],
    "render_item": shardflake.alembic.render_item,
    "compare_type": True,
    "compare_server_default": True,
    **context.config.attributes["options"],
}
if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True, dialect_opts={"paramstyle": "named"}, **OPTIONS)
else:
    context.configure(connection=context.config.attributes["connection"], **OPTIONS)
with context.begin_transaction():
    context.run_migrations()
"""


@pytest.fixture
def psql(request: pytest.FixtureRequest) -> Psql:
    """Runs psql as the documentation says, on a database, from the directory of a script or with its text."""
    bin_dir: Path | None = request.config.getoption("--pg-bin")
    program = str(bin_dir / "psql") if bin_dir else shutil.which("psql")
    if program is None:
        program = str(request.getfixturevalue("local_server").bin_dir / "psql")

    def run(engine: sa.Engine, script: str, directory: Path | None = None) -> None:
        arguments = ["-1", "-f", script] if directory else []  # an offline script has its own BEGIN and COMMIT
        done = subprocess.run(
            [program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn(engine), *arguments],
            cwd=directory,
            input=None if directory else script,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stderr

    return run


class Application:
    """An application with an Alembic environment of its own, in a new directory, as ``alembic init`` makes it."""

    def __init__(self, directory: Path, engine: sa.Engine, metadata: sa.MetaData) -> None:
        self.directory = directory
        self.engine = engine
        self.metadata = metadata
        self.options: dict[str, object] = {}
        (directory / "versions").mkdir(parents=True)
        (directory / "env.py").write_text(ENV)
        template = Path(alembic.__file__).parent / "templates" / "generic" / "script.py.mako"
        shutil.copy(template, directory / "script.py.mako")

    def config(self, connection: sa.Connection | None, output: io.StringIO | None = None) -> Config:
        config = Config(output_buffer=output or io.StringIO(), stdout=io.StringIO())
        config.set_main_option("script_location", str(self.directory))
        config.attributes.update(connection=connection, metadata=self.metadata, options=self.options)
        return config

    def write(self, revision: str, down_revision: str | None, upgrade: str, downgrade: str) -> None:
        """Add a hand-written migration, with ``op`` and ``sa`` imported as in every migration."""
        (self.directory / "versions" / f"{revision}.py").write_text(
            "import sqlalchemy as sa\nfrom alembic import op\n\n"
            f"revision = {revision!r}\ndown_revision = {down_revision!r}\n\n\n"
            f"def upgrade():\n    {upgrade}\n\n\ndef downgrade():\n    {downgrade}\n"
        )

    def autogenerate(self, revision: str) -> str:
        """Make a migration from the difference between models and database, and return its text."""
        with self.engine.connect() as connection:
            command.revision(self.config(connection), message="changes", autogenerate=True, rev_id=revision)
        (path,) = (self.directory / "versions").glob(f"{revision}_*.py")
        return path.read_text()

    def check(self) -> None:
        """Fail if autogenerate would find anything to do."""
        with self.engine.connect() as connection:
            command.check(self.config(connection))

    def upgrade(self, revision: str = "head") -> None:
        with self.engine.begin() as connection:
            command.upgrade(self.config(connection), revision)

    def downgrade(self, revision: str) -> None:
        with self.engine.begin() as connection:
            command.downgrade(self.config(connection), revision)

    def script(self, revisions: str = "head", downgrade: bool = False) -> str:
        """Return what ``alembic upgrade --sql`` writes."""
        output = io.StringIO()
        (command.downgrade if downgrade else command.upgrade)(self.config(None, output), revisions, sql=True)
        return output.getvalue()


@pytest.fixture
def make_application(tmp_path: Path) -> Callable[[sa.Engine, sa.MetaData], Application]:
    """Makes applications, each in a directory of its own."""

    def make(engine: sa.Engine, metadata: sa.MetaData) -> Application:
        return Application(tmp_path / f"application{len(list(tmp_path.iterdir()))}", engine, metadata)

    return make


def catalog(engine: sa.Engine) -> str:
    """Return what the schema contains, as text to compare."""
    with engine.connect() as connection:
        return install.catalog(connection)


def objects(engine: sa.Engine) -> list[str]:
    """Return every schema, relation, function and default of a database, the server's own left out."""
    query = """
        select pg_describe_object(o.classid, o.objid, 0) || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
          from (select 'pg_namespace'::regclass, oid from pg_namespace
                union all select 'pg_class'::regclass, oid from pg_class
                union all select 'pg_proc'::regclass, oid from pg_proc
                union all select 'pg_attrdef'::regclass, oid from pg_attrdef) as o (classid, objid)
          left join pg_attrdef d on o.classid = 'pg_attrdef'::regclass and d.oid = o.objid
         where o.objid >= 16384 and pg_describe_object(o.classid, o.objid, 0) not like '%pg_toast%' order by 1"""
    with engine.connect() as connection:
        return list(connection.scalars(sa.text(query.replace(":", r"\:"))))


def as_session(engine: sa.Engine, **settings: str) -> sa.Engine:
    """Return an engine on the same database whose sessions start with these settings."""
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return make_engine(f"{dsn(engine)} options='{options}'")
