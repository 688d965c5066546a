"""What a function can reach: closures, globals, defaults, bound objects, and the functions it calls.

Reading code this way sees objects that exist when the app is made. What a body makes, imports or
looks up by name is not seen here; it is caught when it runs.
"""

from __future__ import annotations

import dis
import functools
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from typing import Any

SDK_ROOTS = frozenset(
    {
        "anthropic", "cohere", "dashscope", "fireworks", "groq", "langchain", "langchain_core",
        "litellm", "llama_index", "mistralai", "ollama", "openai", "replicate", "together",
        "zhipuai",
    }
)  # fmt: skip
"""Packages whose clients call a model without any model object of the engine."""

_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARIES = (*(sysconfig.get_path(name) for name in _PATHS), *site.getsitepackages())
_OPAQUE = ("google.adk", "google.genai", "roundsman", "pydantic", "asyncio", "builtins")


def reachable(function: Any, most: int = 500) -> Iterator[Any]:
    """Objects `function` can reach, containers opened; at most `most` functions are read."""
    seen: set[int] = set()
    todo: list[Any] = [function]
    while todo and most:
        obj = todo.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        inner = list(_inside(obj))
        if inner:
            most -= 1
        todo += inner
        if obj is not function:
            yield obj


def clients(function: Any) -> list[str]:
    """Packages of other model clients that `function`, or what it calls, names or holds."""
    found = set()
    for obj in (function, *reachable(function)):
        module = obj.__name__ if isinstance(obj, types.ModuleType) else type(obj).__module__
        if isinstance(obj, type):
            module = obj.__module__
        found.add(_root(module))
        code = getattr(_plain(obj), "__code__", None)
        found |= set(_imported(code)) if code is not None else set()
        if _is_genai_client(obj):
            found.add("google.genai.Client")
    return sorted((found & SDK_ROOTS) | (found & {"google.genai.Client"}))


def _is_genai_client(obj: Any) -> bool:
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__name__ == "Client" and str(kind.__module__).startswith("google.genai")


def _root(module: Any) -> str:
    return str(module).partition(".")[0]


def _plain(obj: Any) -> Any:
    """The plain function under a method, a partial or a decorator."""
    while True:
        if isinstance(obj, functools.partial):
            obj = obj.func
        elif isinstance(obj, types.MethodType):
            obj = obj.__func__
        elif isinstance(obj, types.FunctionType) and hasattr(obj, "__wrapped__"):
            obj = obj.__wrapped__
        else:
            return obj


def _imported(code: types.CodeType) -> Iterator[str]:
    """Roots of the packages a body imports."""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield _root(step.argval)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _imported(const)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _inside(obj: Any) -> Iterable[Any]:
    if isinstance(obj, dict):
        return list(obj.values())[:200]
    if isinstance(obj, list | tuple | set | frozenset):
        return list(obj)[:200]
    if isinstance(obj, functools.partial):
        return [obj.func, *obj.args, *obj.keywords.values()]
    if isinstance(obj, types.MethodType):
        return [obj.__func__, *_fields(obj.__self__)]
    if isinstance(obj, types.FunctionType):
        return _of_function(obj)
    if isinstance(obj, types.SimpleNamespace) or _of_app(type(obj).__module__):
        return [*_fields(obj), vars(type(obj)).get("__call__")]
    call = vars(type(obj)).get("__call__")
    if isinstance(call, types.FunctionType) and _ours(call.__module__):
        return [call, *_fields(obj)]
    return []


def _ours(module: Any) -> bool:
    """Whether a function of this module is worth reading: the app's, not the engine's."""
    name = str(module)
    return not any(name == m or name.startswith(m + ".") for m in _OPAQUE)


@functools.cache
def _of_app(module: str) -> bool:
    """Whether a module is the app's own: neither the engine's, nor a library's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not _ours(module) or (file is None and module != "__main__"):
        return False
    return not str(file or "").startswith(_LIBRARIES)


def _of_function(function: types.FunctionType) -> list[Any]:
    if not _ours(function.__module__):
        return []
    found: list[Any] = [function.__dict__.get("__wrapped__"), *(function.__defaults__ or ())]
    found += (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a name that is not bound yet
            continue
    names = set(_names(function.__code__))
    found += [function.__globals__[n] for n in names if n in function.__globals__]
    return [f for f in found if f is not None]


def _fields(obj: Any) -> list[Any]:
    try:
        return list(vars(obj).values())
    except TypeError:
        return []
