"""What is called where no account reaches, by a thread that is older than the run or in an empty context,
while a tool of a run is at work: it is most likely that tool's doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roundsman.adk.current import GUARDS
from roundsman.errors import RefusedToStart
from roundsman.ledger import LiveRun

SEEN = "roundsman_seen"
"""Under this name a node carries the coverage of the app it is of; copied with it."""


def only_run(holds: Callable[[Any], bool]) -> LiveRun | None:
    """The run at work whose guard's coverage `holds` what was called without an account; None when
    there is none, or several: nobody knows then whose it is."""
    found = [
        run
        for run, guard in list(GUARDS.items())
        if run.account.open_actions and not run.account.ended and holds(guard.coverage)
    ]
    return found[0] if len(found) == 1 else None


def refuse_stray(agent: Any) -> None:
    """Refuse an agent of a guarded app in a runner that has neither guard nor account, while a tool of
    the app's run is at work: it was called where no account reaches. The run stops.

    Raises:
        RefusedToStart: naming the agent.
    """
    seen = getattr(agent, "__dict__", {}).get(SEEN)
    run = None if seen is None else only_run(lambda coverage: coverage is seen)
    if run is not None:
        why = f"agent {agent.name!r} was run where the account of its run does not reach"
        run.stop("failed", why, "coverage", "model")
        raise RefusedToStart(why)
