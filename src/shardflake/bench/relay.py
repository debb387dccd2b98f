"""A TCP relay that adds the time of a network to each round trip: ``python -m shardflake.bench.relay PORT SECONDS``.

A program of its own, so that it takes no processor time from the client that is measured. It prints the port it listens on.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def relayed(port: int, round_trip_s: float) -> Iterator[int]:
    """Give a port of this machine behind which a server answers later.

    :param port: the server's, on 127.0.0.1.
    :param round_trip_s: added to each round trip, half of it each way.
    """
    command = [sys.executable, "-m", "shardflake.bench.relay", str(port), str(round_trip_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield int(process.stdout.readline())  # type: ignore[union-attr]
        finally:
            process.kill()


def _pass_on(source: socket.socket, sink: socket.socket, delay: float) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 20):
            time.sleep(delay)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def main(port: int, round_trip_s: float) -> None:
    """Relay connections until the process is ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            inside, _ = listener.accept()
            outside = socket.create_connection(("127.0.0.1", port))
            for one in (inside, outside):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((inside, outside), (outside, inside)):
                threading.Thread(target=_pass_on, args=(source, sink, round_trip_s / 2), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
