"""Free ports on loopback that two drills at once do not both take."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

from roundsman.errors import UsageError

#: below the ports the kernel hands to outgoing connections, which come and go in thousands
_LOWEST, _HIGHEST = 18_000, 32_000
_TRIES = 400


class Ports:
    """Hands out ports and holds each by a lock file until `release`.

    A program binds its port some time after it was chosen; the lock keeps another drill off it until
    then. Raises UsageError when none is free.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"roundsman-ports-{os.getuid()}"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._held: list[IO[str]] = []

    def take(self) -> int:
        """One free port of 127.0.0.1."""
        for _ in range(_TRIES):
            port = random.randint(_LOWEST, _HIGHEST)
            lock = (self._folder / str(port)).open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                listen(port).close()
            except OSError as error:
                lock.close()
                if error.errno not in (errno.EADDRINUSE, errno.EWOULDBLOCK, errno.EACCES):
                    raise
                continue
            self._held.append(lock)
            return port
        raise UsageError(f"no free port between {_LOWEST} and {_HIGHEST} on 127.0.0.1")

    def release(self) -> None:
        """Give all ports back."""
        while self._held:
            self._held.pop().close()


def listen(port: int = 0) -> socket.socket:
    """A listening socket on 127.0.0.1. Raises OSError when the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen(512)
    except OSError:
        found.close()
        raise
    return found
