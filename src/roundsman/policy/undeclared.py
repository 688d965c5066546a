"""Names in the section on conversations that the rest of the policy does not know.

No error: an app may have tools its policy leaves to `tools.default`. But a slip would be silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from roundsman.policy.model import Policy


def undeclared(policy: Policy) -> Iterator[str]:
    """A sentence for each name of a tool that `tools.allow` does not hold, and for a taint rule that has
    nothing to judge."""
    talk, known = policy.conversation, policy.tools.allow
    used = [("taint.trusted_tools", name) for name in talk.taint.trusted_tools]
    used += [("taint.constants", name) for name in talk.taint.constants]
    used += [
        (f"checks.{c}.tools", name) for c, check in talk.checks.items() for name in check.tools
    ]
    for where, name in used:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield f"conversation.{where}: no {name!r} under tools.allow{hint}"
    if talk.taint.mode == "off":
        return
    writes = {n for n, t in known.items() if "effect" in t.model_fields_set} - {
        n for n, t in known.items() if t.effect in ("read", "poll")
    }
    if not writes:
        yield (
            "conversation.taint: no tool under tools.allow has effect write or destructive: "
            "nothing is judged"
        )
    for name in talk.taint.constants:
        if name in known and name not in writes:
            yield f"conversation.taint.constants: {name} has no effect write or destructive: not judged"
