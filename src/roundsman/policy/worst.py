"""The worst case of a policy: what a run can cost at most, and what nothing bounds."""

from __future__ import annotations

from typing import Any, TypeVar

from roundsman.policy.model import Policy
from roundsman.policy.undeclared import undeclared
from roundsman.policy.units import format_duration

_N = TypeVar("_N", int, float)


def worst_case(policy: Policy) -> dict[str, Any]:
    """The most a run can use: `rounds`, `steps`, `actions`, `tokens`, `usd`, `minutes`.

    None means unbounded; those names are in `unbounded`. `notes` says what the numbers leave out.
    A rule that is off or in shadow bounds nothing.
    """
    run, rnd = policy.run, policy.round
    rounds = _held(policy, "max_rounds", policy.loop.max_rounds)
    round_steps = _held(policy, "round_steps", rnd.steps)
    timeout = _held(policy, "round_timeout", rnd.timeout)
    clock = _held(policy, "wall_clock", run.wall_clock)
    steps = _least(_held(policy, "steps", run.steps), _times(rounds, round_steps))
    actions = _least(_held(policy, "actions", run.actions), _calls_allowed(policy))
    seconds = _least(clock, _times(rounds, timeout))
    most: dict[str, Any] = {
        "rounds": rounds,
        "steps": steps,
        "actions": actions,
        "tokens": _held(policy, "tokens", run.tokens),
        "usd": _held(policy, "usd", run.usd),
        "minutes": None if seconds is None else round(seconds / 60, 2),
    }
    unbounded = [name for name, value in most.items() if value is None]
    notes = _notes(policy, most, clock, timeout)
    alone = _without_rounds(_held(policy, "steps", run.steps), clock, most)
    return {**most, "unbounded": unbounded, "notes": [*notes, *alone]}


def _without_rounds(steps: int | None, clock: float | None, most: dict[str, Any]) -> list[str]:
    """What an app without rounds may use, where it is more than the rounds add up to."""
    more = []
    if steps is not None and most["steps"] != steps:
        more.append(f"{steps} steps")
    if clock is not None and most["minutes"] != round(clock / 60, 2):
        more.append(format_duration(clock))
    if not more:
        return []
    return [f"rounds: their limits hold only inside loop_until_done; without it {', '.join(more)}"]


def _notes(
    policy: Policy, most: dict[str, Any], clock: float | None, timeout: float | None
) -> list[str]:
    run, notes = policy.run, []
    if most["tokens"] is not None and run.accounting == "settle":
        notes.append(
            "tokens: plus one unbounded call (of every parallel branch); accounting: reserve "
            "holds the budget before the call"
        )
    elif most["tokens"] is not None:
        notes.append("tokens: a prompt is estimated before its call; plus the estimate's error")
    if most["tokens"] is not None and run.cached_tokens == "free":
        notes.append("tokens: input that a provider reads from its cache is not counted")
    if most["usd"] is not None and policy.usd_from_preset:
        notes.append(
            f"usd: the ${run.usd:.2f} come from a preset and are off for a model of unknown price; "
            "set run.usd yourself to refuse such a model"
        )
    if clock is not None:
        end = f"its round's timeout ({format_duration(timeout)})" if timeout else "it returns"
        asks = run.on_limit == "ask"
        kept = f"may go on until {end}" if asks else "is broken off, but a thread cannot be"
        notes.append(f"minutes: a call in flight at the limit {kept}")
    bounded = most["steps"] is not None or most["minutes"] is not None
    if bounded and (_held(policy, "steps", run.steps) is None or clock is None):
        notes.append("rounds: limits of rounds hold only inside loop_until_done")
    if run.on_limit == "ask":
        notes.append("on_limit: a person who is asked can grant more")
    weak = [f"{name} ({mode})" for name, mode in policy.rules.items() if mode != "enforce"]
    if weak:
        notes.append(f"rules: not enforced: {', '.join(weak)}")
    return [*notes, *undeclared(policy)]


def _held(policy: Policy, rule: str, value: _N | None) -> _N | None:
    return value if policy.rules.get(rule, "enforce") == "enforce" else None


def _calls_allowed(policy: Policy) -> int | None:
    """Calls an allowlist adds up to, when it is closed and every tool in it is counted."""
    if policy.tools.default != "refuse" or _held(policy, "allowlist", 1) is None:
        return None
    total = 0
    for tool in policy.tools.allow.values():
        if _held(policy, "max_calls", tool.max_calls) is None:
            return None
        total += tool.max_calls or 0
    return total


def _times(count: int | None, each: float | None) -> float | None:
    return None if count is None or each is None else count * each


def _least(*values: float | None) -> float | None:
    known = [v for v in values if v is not None]
    return min(known) if known else None
