"""Clock and dice for code that steers agents, and a look for code that uses others.

Such code (a function node that calls `ctx.run_node`) is run anew from its beginning when a run is
taken up. What it asked of a clock or of chance must then be answered as before, or it would steer
elsewhere and what is on record would fit nothing any more.
"""

from __future__ import annotations

import datetime
import dis
import os
import random
import secrets
import time
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from roundsman.adk.current import current_run
from roundsman.adk.kinds import function_of, node_kind
from roundsman.errors import RefusedToStart, UsageError
from roundsman.guard.events import Chance
from roundsman.ledger import LiveRun

_CLOCKS = frozenset({"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter",
                     "perf_counter_ns", "localtime", "gmtime", "now", "utcnow", "today"})  # fmt: skip
_DICE = frozenset({"random", "secrets", "uuid"})
_NOW, _DRAW = "roundsman.adk.now()", "roundsman.adk.draw()"


def now(name: str = "") -> float:
    """Seconds since the epoch, by the run's clock; on record, so a resumed run is told the same.

    Args:
        name: tells askers apart that run at the same time; each counts for itself.

    Raises:
        UsageError: outside of a run.
        LedgerError: it cannot be put on record.
    """
    return _asked("time", name, lambda run: run.clock())


def draw(name: str = "") -> float:
    """A random number from 0 up to 1; on record, so a resumed run is given the same.

    Args, raises: as `now`.
    """
    return _asked("random", name, lambda run: random.random())


def _asked(what: str, name: str, make: Callable[[LiveRun], float]) -> float:
    run = current_run()
    if run is None:
        call = _NOW if what == "time" else _DRAW
        raise UsageError(f"{call} was called outside of a guarded run; call it in a node of one")
    if run.history is not None and (known := run.history.chance.get((what, name))):
        return known.popleft()
    value = float(make(run))
    run.write(Chance(what=what, name=name, value=value))
    return value


def refuse_chance(nodes: Iterable[Any], excepted: Iterable[str]) -> None:
    """Refuse function nodes that run nodes and use a clock or dice of their own.

    Args:
        excepted: names of nodes a person looked at.

    Raises:
        RefusedToStart: naming node, file, line, and the call to use.
    """
    known = set(excepted)
    found = [
        f"{node.name}: {file}:{line} calls {call}; call {better}"
        for node in nodes
        if node_kind(node) == "function_node" and node.name not in known
        for file, line, call, better in calls_of_chance(function_of(node))
    ]
    if found:
        raise RefusedToStart(
            f"a node that steers others would steer elsewhere when the run is taken up: "
            f"{'; '.join(found)}. Or name the node under exceptions: in the policy with the reason"
        )


def calls_of_chance(function: Any) -> list[tuple[str, int, str, str]]:
    """(file, line, call, the call to use) of every clock and die in a function that runs nodes;
    none for one that runs none. What it calls elsewhere is not looked into."""
    code = getattr(function, "__code__", None)
    if code is None or not any("run_node" in one.co_names for one in _codes(code)):
        return []
    names = dict(getattr(function, "__globals__", {}))
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    found = []
    for one in _codes(code):
        for line, path, target in _reached(one, dict(names)):
            better = _better(path, target)
            if better:
                found.append((code.co_filename, line, path, better))
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code and that of functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _reached(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[int, str, Any]]:
    """(line, dotted name, object) of what names lead to, attribute by attribute; names that the code
    imports itself are added to `names`."""
    line, path, target = code.co_firstlineno, "", None
    module: Any = None
    known: dict[str, str] = {}
    for one in dis.get_instructions(code):
        line = (one.positions.lineno if one.positions else None) or line
        name = one.argval if isinstance(one.argval, str) else ""
        if one.opname == "IMPORT_NAME":
            path, target = name, _MODULES.get(name)
            module = target
        elif one.opname == "IMPORT_FROM":
            path, target = f"{getattr(module, '__name__', '')}.{name}", getattr(module, name, None)
        elif one.opname.startswith("STORE_"):
            names[name], known[name] = target, path
            target = None
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path, target = f"{path}.{name}", getattr(target, name, None)
            yield line, path, target
        elif one.opname.startswith("LOAD_"):
            path, target = known.get(name, name), names.get(name)
            yield line, path, target
        else:  # a call: what it gives is not what was called
            target = None


_MODULES = {m.__name__: m for m in (time, random, datetime, os, secrets, uuid)}


def _better(path: str, target: Any) -> str:
    """The call to use in place of this object; empty when it is neither clock nor die."""
    if target is None or isinstance(target, type | types.ModuleType):
        return ""
    owner = getattr(target, "__self__", None)
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__name__", "")
    if owner is time or module == "time" or (isinstance(owner, type) and _dates(owner)):
        return _NOW if name in _CLOCKS else ""
    if isinstance(owner, random.Random) or module in _DICE or target is os.urandom:
        return _DRAW
    return ""


def _dates(owner: type) -> bool:
    return issubclass(owner, datetime.date)
