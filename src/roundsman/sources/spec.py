"""Which sources an investigation looks at: from the command line, `incident.yaml`, or a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from roundsman.errors import SourceError

#: fields that name servers or paths, in the order they are opened
KINDS = ("prometheus", "logs", "traces", "kubernetes", "argocd", "git")
_MOST = 16


@dataclass(frozen=True)
class SourceSpec:
    """What to open. `headers` are `HOST=Name: value` with `${VARIABLE}` where a secret goes.

    Logs are paths, or addresses as `loki+http://...`; traces are addresses. `runbooks` are files or folders,
    no source of telemetry.
    """

    folder: str = ""
    prometheus: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    kubernetes: tuple[str, ...] = ()
    argocd: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    runbooks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.folder) or self.beside

    @property
    def beside(self) -> bool:
        """Whether it names anything but a folder."""
        return any(getattr(self, kind) for kind in KINDS)

    @property
    def live(self) -> bool:
        """Whether a server is among them, whose telemetry ends now and not with a recording."""
        servers = (*self.prometheus, *self.traces, *self.kubernetes, *self.argocd)
        return bool(servers) or any(is_address(one) for one in self.logs)

    def with_more(self, other: SourceSpec) -> SourceSpec:
        """Both together, each entry once."""
        joined: dict[str, Any] = {
            name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
            for name in (*KINDS, "headers", "runbooks")
        }
        return replace(self, folder=self.folder or other.folder, **joined)

    def absolute(self) -> SourceSpec:
        """With paths that mean the same from any folder: what a journal keeps."""
        return replace(
            self,
            folder=str(Path(self.folder).resolve()) if self.folder else "",
            logs=tuple(one if is_address(one) else str(Path(one).resolve()) for one in self.logs),
            git=tuple(str(Path(one).resolve()) for one in self.git),
            runbooks=tuple(str(Path(one).resolve()) for one in self.runbooks),
        )

    def to_json(self) -> dict[str, Any]:
        """What is set, as `from_json` reads it."""
        return {
            f.name: value if isinstance(value, str) else list(value)
            for f in fields(self)
            if (value := getattr(self, f.name))
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> SourceSpec:
        """The reverse of `to_json`."""
        lists: dict[str, Any] = {
            name: tuple(map(str, content.get(name) or ()))
            for name in (*KINDS, "headers", "runbooks")
        }
        return replace(cls(folder=str(content.get("folder") or "")), **lists)


def is_address(text: str) -> bool:
    """Whether it is an address and no path."""
    return "://" in text


def read_sources(content: Any, file: str, folder: Path) -> SourceSpec:
    """The `sources:` section of `incident.yaml`: each kind an address or path, or a list of them.

    Paths are relative to the folder. Raises SourceError naming the key.
    """
    if content is None:
        return SourceSpec()
    if not isinstance(content, Mapping):
        raise SourceError(f"{file}: sources must be a mapping such as prometheus: http://host:9090")
    known = (*KINDS, "headers", "runbooks")
    found: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            raise SourceError(f"{file}: sources: unknown key {str(key)!r}; {hint}")
        rows = value if isinstance(value, list) else [value]
        if not all(isinstance(row, str) and row for row in rows):
            raise SourceError(f"{file}: sources: {key} must be a text or a list of them")
        if len(rows) > _MOST:
            raise SourceError(f"{file}: sources: {key} has {len(rows)} entries, at most {_MOST}")
        found[key] = tuple(_from(folder, key, row) for row in rows)
    return replace(SourceSpec(), **found)


def _from(folder: Path, key: str, text: str) -> str:
    keep = key == "headers" or is_address(text) or not text.strip()
    return text if keep else str(folder / text)


def check_counts(spec: SourceSpec) -> None:
    """Raises SourceError when an entry is empty, or there are more of one kind than are asked."""
    for kind in KINDS:
        if not all(one.strip() for one in getattr(spec, kind)):
            raise SourceError(f"--{kind} is empty; leave it out, or give a path or an address")
        if len(getattr(spec, kind)) > _MOST:
            raise SourceError(f"--{kind}: {len(getattr(spec, kind))} are named, at most {_MOST}")


def first_lines(texts: Iterable[str], most: int = 3) -> str:
    """A few errors as one line."""
    rows = list(texts)
    more = f"; and {len(rows) - most} more" if len(rows) > most else ""
    return "; ".join(rows[:most]) + more
