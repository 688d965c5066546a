"""Ids of runs, and of what is in them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from roundsman.ledger.records import Record


def new_run_id() -> str:
    """A run id that sorts by time; its beginning is enough to name it."""
    return time.strftime("%y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(4)


def last_id(records: Sequence[Record], letter: str) -> int:
    """Highest number given out so far: an id names one action of a run, refused ones too."""
    ids = (str(r.body.get(key, "")) for r in records for key in ("id", "subject_id"))
    return max((int(i[1:]) for i in ids if i[:1] == letter and i[1:].isdecimal()), default=0)
