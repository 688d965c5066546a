"""So that a write happens once: a key the tool may know it by, and a check whether it did."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from threading import Thread
from typing import Any, TypeVar

from roundsman.adk.arguments import signature_of
from roundsman.errors import RoundsmanError
from roundsman.ledger import History, Store, settle_unknown

PARAMETER = "idempotency_key"
"""A tool with a parameter of this name gets a key without a word in the policy."""

Check = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


def verified_by(check: Check) -> Callable[[F], F]:
    """Mark a tool's function with a check that says whether a call was carried out.

    Args:
        check: takes the call's arguments (and the idempotency key, when it has a parameter of that
            name), plain or async; True: it was carried out, False: it was not, None: it cannot say.
    """

    def mark(function: F) -> F:
        function.verify = check  # type: ignore[attr-defined]
        return function

    return mark


def key_parameter(tool: Any, declared: str | None, bounded: frozenset[str]) -> str:
    """The parameter of a tool that takes a key; empty when there is none."""
    if declared is not None:
        return declared
    names = signature_of(tool, bounded).names
    return PARAMETER if names is not None and PARAMETER in names else ""


def key_for(run_id: str, action: str) -> str:
    """The key of an action: the same for every attempt at it, another for any other action."""
    return "roundsman-" + sha256(f"{run_id}\0{action}".encode()).hexdigest()[:32]


def checks_of(nodes: Iterable[Any]) -> dict[str, Check]:
    """The checks that the tools of these nodes offer, by the tool's name."""
    found: dict[str, Check] = {}
    for node in nodes:
        for tool in [*(getattr(node, "tools", None) or []), getattr(node, "tool", None)]:
            name = getattr(tool, "name", "") or getattr(tool, "__name__", "")
            check = getattr(tool, "verify", None) or getattr(
                getattr(tool, "func", None), "verify", None
            )
            if name and callable(check):
                found[str(name)] = check
    return found


def ask_the_tools(store: Store, run_id: str, checks: Mapping[str, Check]) -> int:
    """Ask each unknown write's own check before a person is asked; returns how many are settled.

    A check that says no lets the write run again. One that cannot say, or fails, leaves it for a
    person.

    Raises:
        LeaseHeld, JournalDamaged: as for the journal.
    """
    settled = 0
    for action in History(store.records(run_id)).unknown:
        check = checks.get(action.tool)
        said = None if check is None else _said(check, action.args, action.idempotency)
        if said is not None:
            decision = "done" if said else "again"
            settle_unknown(store, run_id, action.id, decision, by=f"{action.tool}.verify")
            settled += 1
    return settled


def _said(check: Check, args: Mapping[str, Any], key: Mapping[str, str]) -> bool | None:
    try:
        names = inspect.signature(check).parameters
        beside = {k: v for k, v in key.items() if k in names}
        said = check(**args, **beside)
        if inspect.isawaitable(said):
            said = _awaited(said)
    except RoundsmanError:
        raise
    except Exception:  # a user's code; a person is asked
        return None
    return said if isinstance(said, bool) else None


def _awaited(waiting: Any) -> Any:
    """The result of a coroutine, also where an event loop is running in this thread."""
    results: list[Any] = []

    async def wait() -> None:
        results.append(await waiting)

    thread = Thread(target=lambda: asyncio.run(wait()), name="roundsman-verify")
    thread.start()
    thread.join()
    return results[0] if results else None
