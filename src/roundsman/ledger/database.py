"""Opening the journal's file, and what to do when it cannot be used."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, for its owner only: it holds prompts, replies and results of tools.

    SQLite gives the files beside it (-wal, -shm) the mode of the file itself. One that exists keeps
    what somebody gave it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return sqlite3.connect(path, timeout=10, check_same_thread=False)


def way_out(error: Exception) -> str:
    """What a person can do about an error of the database."""
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return "move that file away, or set ROUNDSMAN_HOME to another folder"
    if "locked" in text:
        return "another process is writing to it for long; wait for it or end it"
    if "UNIQUE" in text:
        return "another process has written to this run; see: roundsman runs list"
    return "set ROUNDSMAN_HOME to a folder that can be written and has room"
