"""What a store hands out: records, runs, and the hash that chains them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from roundsman.errors import JournalDamaged, RunNotFound

FORGET = "keep a copy of the file if it matters, then: roundsman runs delete RUN"
"""The way out where a journal is damaged."""


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
    """A run as `runs list` shows it; `started` in seconds since the epoch; `status` is running,
    waiting (for a person), answered (by one, to be resumed), interrupted, done or stopped. `damaged`
    says why its journal cannot be counted; rounds and usage are then 0 and empty."""

    run_id: str
    status: str
    started: float
    question: str
    rounds: int
    usage: dict[str, Any] = field(default_factory=dict)
    damaged: str = ""


def record_of(run_id: str, row: tuple[int, str, float, str, str]) -> Record:
    """The record a row of the store holds.

    Raises:
        JournalDamaged: its body is not a JSON object.
    """
    seq, kind, at, text, digest = row
    try:
        body = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise JournalDamaged(f"run {run_id}: record {seq} ({kind}) is not JSON; {FORGET}")
    return Record(seq, kind, at, body, digest)


def storable(text: str) -> str:
    """Databases store UTF-8: a lone surrogate (from a broken log line) becomes a question mark, as
    does a zero, which PostgreSQL does not take."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


def default_home() -> Path:
    """`$ROUNDSMAN_HOME`, else `~/.local/state/roundsman`."""
    given = os.environ.get("ROUNDSMAN_HOME")
    return Path(given).expanduser() if given else Path.home() / ".local" / "state" / "roundsman"


def chain(previous: str, kind: str, at: float, body: str) -> str:
    """The hash of a record, covering its predecessor's."""
    return sha256(
        f"{previous}\n{kind}\n{at!r}\n{body}".encode("utf-8", "surrogatepass")
    ).hexdigest()


def no_such_run(given: str, known: Sequence[str], where: object = "") -> RunNotFound:
    """The error for an id no run has, with those it may have been meant for."""
    from difflib import get_close_matches

    shown = given if len(given) <= 80 else given[:77] + "..."
    part = [one for one in known if len(given) >= 3 and given in one]
    near = (part or get_close_matches(given, known, 3))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "see: roundsman runs list"
    return RunNotFound(f"no run {shown!r}" + f" in {where}" * bool(where) + f"; {hint}")
