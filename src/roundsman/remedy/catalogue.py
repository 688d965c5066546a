"""Which remedies there are: those that ship, and those of one's own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from roundsman.errors import RoundsmanError, UsageError
from roundsman.remedy.base import Remedy, check_remedy
from roundsman.remedy.builtin import BUILTIN
from roundsman.remedy.config import Config, Configured, load_config
from roundsman.remedy.reached import reached

FILES = (".yaml", ".yml")


@dataclass(frozen=True)
class Catalogue:
    """Remedies by name, and where they are from: `given` is what `--remedies` said, made absolute."""

    remedies: dict[str, Remedy]
    config: Config
    given: tuple[str, ...]

    def named(self, name: str) -> Remedy:
        """The remedy of this name.

        Raises:
            UsageError: there is none; near names are told.
        """
        if name not in self.remedies:
            near = get_close_matches(name, list(self.remedies), 1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self.remedies)}"
            )
            raise UsageError(f"no remedy {name!r}; {hint}")
        return self.remedies[name]


def load_catalogue(given: Sequence[str]) -> Catalogue:
    """The remedies that ship, those of a file of remedies, and those of one's own.

    Args:
        given: each a file of remedies (`*.yaml`, at most one), `FILE.py:CLASS` or `MODULE:CLASS`.

    Raises:
        UsageError: one of them cannot be read, or two bear one name.
    """
    config, own, kept = Config(), list[str](), list[str]()
    for one in given:
        if one.lower().endswith(FILES):
            if config.file:
                raise UsageError(
                    f"--remedies {one}: {config.file} is given already; put them in one"
                )
            config = load_config(Path(one))
            kept.append(config.file)
        else:
            own.append(_absolute(one))
            kept.append(own[-1])
    remedies: dict[str, Remedy] = {}
    kinds: list[type[Remedy]] = [*BUILTIN, *(_loaded(one) for one in (*config.own, *own))]
    for kind in kinds:
        if kind.name in remedies:
            raise UsageError(f"two remedies are called {kind.name!r}; give yours another name")
        remedies[kind.name] = _made(kind, config)
    return Catalogue(remedies, config, tuple(kept))


def digest_of(remedy: Remedy) -> str:
    """Of the code a remedy's class is written in, and of what that imports of the user's own files: an
    approval is of what this code does."""
    texts = []
    below: dict[str, bytes] = {}
    for kind in type(remedy).__mro__:
        if kind in (Remedy, Configured, object) or not issubclass(kind, Remedy):
            continue
        try:
            texts.append(inspect.getsource(sys.modules[kind.__module__]))
            below |= reached(sys.modules[kind.__module__])
        except (OSError, TypeError, KeyError):
            texts.append(repr(kind))
    said = sha256("\0".join(texts).encode())
    for name, source in sorted(below.items()):
        said.update(f"\0{name}\0{len(source)}\0".encode() + source)
    return said.hexdigest()


def _made(kind: type[Remedy], config: Config) -> Remedy:
    try:
        return kind(config) if issubclass(kind, Configured) else kind()
    except RoundsmanError:
        raise
    except Exception as error:  # somebody's code
        raise UsageError(
            f"remedy {kind.name} cannot be made: {type(error).__name__}: {error}"
        ) from None


def _absolute(spec: str) -> str:
    module, colon, name = spec.rpartition(":")
    if not colon or not name:
        raise UsageError(
            f"--remedies {spec!r}: give a file of remedies (.yaml), FILE.py:CLASS or MODULE:CLASS"
        )
    return f"{Path(module).resolve()}:{name}" if module.endswith(".py") else spec


def _loaded(spec: str) -> type[Remedy]:
    where, _, name = spec.rpartition(":")
    module = _module(where)
    kind = getattr(module, name, None)
    if kind is None:
        there = [n for n, o in vars(module).items()
                 if isinstance(o, type) and issubclass(o, Remedy) and not inspect.isabstract(o)]  # fmt: skip
        raise UsageError(f"{where} has no {name!r}; remedies in it: {', '.join(there) or 'none'}")
    return check_remedy(kind, spec)


def _module(where: str) -> Any:
    try:
        if not where.endswith(".py"):
            if "" not in sys.path:  # as `python -m` has it
                sys.path.insert(0, "")
            return importlib.import_module(where)
        path = Path(where)
        if not path.is_file():
            raise UsageError(f"no file {where}")
        name = f"roundsman_remedies_{sha256(where.encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    except RoundsmanError:
        raise
    except ModuleNotFoundError as error:
        raise UsageError(f"{where} needs {error.name!r}, which is not there") from None
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())[:300]
        raise UsageError(f"{where} fails when loaded: {type(error).__name__}: {said}") from None
