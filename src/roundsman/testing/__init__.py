"""For tests of your own agents: a scripted model, a clock you move, a guarded run in one call.

async def test_never_restarts():
    agent = LlmAgent(name="a", model=ScriptedModel([call("restart"), "done"]), tools=[restart])
    result = await run_guarded(agent, "go", policy)
    assert_refused(result, "restart", times=1)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LAZY = {
    "ScriptedModel": "roundsman.adk.scripted",
    "call": "roundsman.adk.scripted",
    "FakeClock": "roundsman.testing.clock",
    "assert_refused": "roundsman.testing.checks",
    "GuardedResult": "roundsman.testing.runs",
    "run_guarded": "roundsman.testing.runs",
}

__all__ = ["FakeClock", "GuardedResult", "ScriptedModel", "assert_refused", "call", "run_guarded"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'roundsman.testing' has no attribute {name!r}")
