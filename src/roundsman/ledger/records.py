"""What a store hands out: records, runs, and the hash that chains them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal; `hash` covers the previous record's hash."""

    seq: int
    kind: str
    at: float
    body: dict[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as `runs list` shows it; `started` in seconds since the epoch."""

    run_id: str
    status: str
    started: float
    question: str
    rounds: int
    usage: dict[str, Any] = field(default_factory=dict)


def default_home() -> Path:
    """`$ROUNDSMAN_HOME`, else `~/.local/state/roundsman`."""
    given = os.environ.get("ROUNDSMAN_HOME")
    return Path(given).expanduser() if given else Path.home() / ".local" / "state" / "roundsman"


def chain(previous: str, kind: str, at: float, body: str) -> str:
    """The hash of a record, covering its predecessor's."""
    return sha256(
        f"{previous}\n{kind}\n{at!r}\n{body}".encode("utf-8", "surrogatepass")
    ).hexdigest()
