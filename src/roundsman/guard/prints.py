"""Fingerprints of calls and results: equal meaning, equal digest.

Arguments are compared as canonical JSON. Results are compared with digits masked, since a clock or
a request id hides sameness (shown on recorded runs: 62 clock calls in a row, every answer new).
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

_DIGITS = re.compile(r"\d+")


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces; what is not JSON becomes its `str`."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def digest(text: str) -> str:
    """A short stable digest (16 hex digits)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def call_print(tool: str, args: Any) -> str:
    """Digest of a tool call: its name and canonical arguments."""
    return digest(f"{tool}\x00{canonical(args)}")


def result_print(result: Any) -> str:
    """Digest of a result's canonical form with every run of digits masked."""
    return digest(_DIGITS.sub("#", canonical(result)))
