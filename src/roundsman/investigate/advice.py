"""The next safe action for a cause, in words; nothing here acts."""

from __future__ import annotations

from roundsman.investigate.causes import Candidate

_ACT = {
    "certificate": "have the certificate renewed by whoever owns it, and watch the errors stop",
    "traffic": "add capacity or shed load where requests enter; no change is to be rolled back",
    "upstream": "ask the provider, and fail over or degrade where that is prepared",
    "disk": "free or add space, and find what filled it",
    "node": "move the work off that node, and have it looked at",
    "dns": "ask the resolver directly, and fail over to another where one is prepared",
    "stalled": "look at what it waits for (threads, locks, the message it holds) before it is restarted",
    "neighbour": "have its work limited, moved or put off, and watch the others recover",
    "cache": "shed load from what stands behind it while it fills, and find what emptied it",
    "data": "set the damaged data aside, and find where it came from",
}


def next_action(one: Candidate | None, service: str) -> str:
    """What whoever is on call does next."""
    if one is None:
        return f"read the first errors of {service or 'the service'} in full before acting"
    if one.condition:
        return _ACT.get(one.condition.kind, f"look at {service} before acting")
    assert one.suspect is not None
    row = one.suspect.change.row
    keys = ", ".join(one.suspect.keys[:2])
    what = f"{row.get('kind')} {row.get('name')}" + (f" of {service}" if service else "")
    check = f"confirm that {keys} is in effect" if keys else f"confirm that {what} is live"
    return f"{check}, then have {what} rolled back by whoever owns it and watch the errors stop"
