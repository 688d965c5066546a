"""The code of the user's own that a module is made of: what it imports, and what that imports in turn.

Read from the sources, without running any. What is installed (the standard library, packages,
Roundsman) is left out, as is what no import statement names.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

import roundsman

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OURS = Path(roundsman.__file__).resolve().parent
_STDLIB = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))


def reached(module: ModuleType) -> dict[str, bytes]:
    """Source by module name, sorted by it, of what a module's own code reaches; without the module itself.

    A file that is no Python ends the search on its branch, and counts as it is.
    """
    found: dict[str, bytes] = {}
    file = _own(getattr(module, "__file__", None))
    waiting = [(module.__package__ or "", file.read_bytes())] if file is not None else []
    while waiting:
        package, source = waiting.pop()
        for name in _imported(source, package):
            for known, file, is_package in _files(name):
                if known in found or known == module.__name__:
                    continue
                found[known] = text = file.read_bytes()
                waiting.append((known if is_package else known.rpartition(".")[0], text))
    return dict(sorted(found.items()))


def _imported(source: bytes, package: str) -> Iterator[str]:
    """Names of modules, and of what may be one, that import statements name."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level and not package:
                continue  # it could not be imported either
            around = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(around if node.level else ()), *filter(None, [node.module])])
            yield from (f"{base}.{one.name}" if base else one.name for one in node.names)


def _files(name: str) -> Iterator[tuple[str, Path, bool]]:
    """(name, file, is it a package) of a module and the packages above it, as an import would find them."""
    known, path = "", None
    for part in name.split("."):
        known = f"{known}.{part}" if known else part
        try:
            spec = getattr(sys.modules.get(known), "__spec__", None)  # as it was found then
            spec = spec or PathFinder.find_spec(known, path)
        except (ImportError, ValueError, OSError):
            return
        if spec is None:
            return
        places = spec.submodule_search_locations
        file = _own(spec.origin)
        if file is not None:
            yield known, file, places is not None
        elif places is None or spec.origin is not None:  # installed, built in or compiled
            return
        if places is None:
            return
        path = list(places)


def _own(origin: str | None) -> Path | None:
    """The source file, when it is one of the user's."""
    if not origin or not origin.endswith(".py"):
        return None
    file = Path(origin).resolve()
    if _INSTALLED & set(file.parts) or file.is_relative_to(_OURS) or not file.is_file():
        return None
    return None if any(file.is_relative_to(one) for one in _STDLIB) else file
