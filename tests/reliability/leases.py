"""Processes with pools and workers are stopped beyond their leases, killed, forked and cut off at random: no id comes twice."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from contextlib import suppress
from pathlib import Path

import psycopg

from shardflake.server import free_port
from tests.reliability.attack import Outcome, attacked_server

PROCESSES = 8
LEASE = 2.0
RESERVE = "select shardflake.reserve_worker_ids(7000, 7009, '2 s')"


class Proxy:
    """A TCP relay to a server that can be cut: nothing gets through any more, and nobody is told."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.port = free_port()
        self._cut = threading.Event()
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        self._cut.set()

    def mend(self) -> None:
        """Let new connections through; those of before are gone."""
        self._drop()
        self._cut.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # wakes the relay up
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                inside, _ = self._listener.accept()
            except OSError:
                return
            outside = socket.create_connection(("127.0.0.1", self._target))
            with self._lock:
                self._sockets += (inside, outside)
            for source, sink in ((inside, outside), (outside, inside)):
                threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if self._cut.is_set():
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Victim:
    """A drawing process behind a proxy of its own."""

    def __init__(self, port: int, directory: Path, mode: str) -> None:
        self.proxy = Proxy(port)
        self._arguments = [f"postgresql+psycopg://postgres@127.0.0.1:{self.proxy.port}/postgres", str(directory), mode]
        self.until: float | None = None
        """When the present attack ends; None between attacks."""
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.reliability.lease_process", *self._arguments],
            cwd=Path(__file__).parents[2],
            stderr=subprocess.DEVNULL,
        )

    def attack(self, chance: random.Random, now: float) -> None:
        """Do something to the process, and say when it ends."""
        if self.process.poll() is not None:  # a SIGUSR1 met it before it was ready for one
            self.start()
            return
        what = chance.choice(("stop", "stop", "kill", "fork", "cut"))
        if what == "stop":
            os.kill(self.process.pid, signal.SIGSTOP)
            self.until = now + LEASE + chance.uniform(0.3, 2)
        elif what == "kill":
            self.process.kill()
            self.process.wait()
            self.start()
        elif what == "fork":
            os.kill(self.process.pid, signal.SIGUSR1)
        else:
            self.proxy.cut()
            self.until = now + chance.uniform(0.5, 2 * LEASE)

    def relieve(self) -> None:
        """End the present attack."""
        os.kill(self.process.pid, signal.SIGCONT)
        self.proxy.mend()
        self.until = None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.proxy.close()


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, broken: bool = False) -> Outcome:
    """Attack eight processes of four threads, some three times a second.

    :param rounds: attacks on one of the processes.
    :param broken: True runs the control: generators that keep a lease for ever.
    :returns: ``ids`` counts what the processes received, from pools and workers.
    """
    outcome = Outcome("leases" + (" without expiry" if broken else ""))
    chance = random.Random(seed)
    with attacked_server(bin_dir, fsync="off") as server, tempfile.TemporaryDirectory() as name:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(RESERVE)
        directory = Path(name)
        victims = [Victim(server.port, directory, "broken" if broken else "sound") for _ in range(PROCESSES)]
        try:
            while len(list(directory.iterdir())) < PROCESSES:
                time.sleep(0.1)
            while outcome.rounds < rounds:
                now = time.monotonic()
                for victim in victims:
                    if victim.until is not None and now > victim.until:
                        victim.relieve()
                idle = [victim for victim in victims if victim.until is None]
                if idle and chance.random() < 0.5:
                    chance.choice(idle).attack(chance, now)
                    outcome.rounds += 1
                time.sleep(0.1)
        finally:
            for victim in victims:
                victim.end()
        time.sleep(0.1)
        ids = array("q")
        for path in directory.iterdir():
            data = path.read_bytes()
            ids.frombytes(data[: len(data) // 8 * 8])
    of_workers = sum((value >> 10) & 8191 >= 7000 for value in ids)
    assert len(ids) // 10 < of_workers < len(ids) - len(ids) // 10, f"{of_workers} of {len(ids)} ids are of workers"
    outcome.ids = len(ids)
    outcome.duplicates = len(ids) - len(set(ids))
    return outcome
