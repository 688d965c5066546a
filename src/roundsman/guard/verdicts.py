"""What may be said of an event, from mildest to strictest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from roundsman.guard.events import Event


class Kind(IntEnum):
    """The six verdicts; the strictest of all rules wins. See DESIGN's table for what each does."""

    ALLOW = 0
    AMEND = 1
    ASK = 2
    REFUSE = 3
    CUT = 4
    STOP = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement.

    `event` is the changed event for Amend; `stop` the reason a Cut or Stop goes down as in the
    report (`tokens`, `no_progress` ...); `changes` lists {arg, from, to} for Amend; `numbers`
    holds the figures the rule looked at. `wait`: once the calls in flight are settled, the same
    proposal may get another answer.
    """

    kind: Kind
    rule: str = ""
    layer: str = ""
    reason: str = ""
    stop: str = ""
    event: Event | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Mapping[str, Any], ...] = ()
    wait: bool = False


ALLOW = Verdict(Kind.ALLOW)
