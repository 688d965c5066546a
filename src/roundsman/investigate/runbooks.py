"""Runbooks: what a team wrote down beforehand for an alert. The one that fits says where to look first.

A runbook is Markdown with front matter:

    ---
    alert: PaymentsErrors*          # a name or several, * stands for anything, any case
    service: payments               # optional
    ask:                            # optional: questions the analyst asks as well
      - {metrics: pool, service: payments}
      - {logs: too many clients}
      - {traces: payments}
    ---

It steers questions only. What it claims is no evidence, and no verdict rests on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from roundsman.errors import SourceError
from roundsman.investigate.alerts import Alert
from roundsman.investigate.windows import MINUTES
from roundsman.sources import Unseen

#: runbooks that are read, bytes of one, characters of its text in a prompt, questions of one
_MOST, _LARGEST, _TEXT, _ASKS = 500, 256 * 1024, 3_000, 6
_FRONT = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?(.*)\Z", re.DOTALL | re.MULTILINE
)
_KEYS = ("alert", "service", "ask")
#: what a question may be about -> the tool, and the argument its text goes to
_TOOLS = {"metrics": ("query_metrics", "metric"), "logs": ("query_logs", "text"),
          "traces": ("query_traces", "service")}  # fmt: skip
_LEAD = "Runbook asks: "

Call = dict[str, Any]


@dataclass(frozen=True)
class Runbook:
    """One runbook: where it lies, its title, when it applies, what it says and asks."""

    path: Path
    title: str
    alerts: tuple[str, ...]
    services: tuple[str, ...]
    text: str
    asks: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def fit(self, alert: Alert) -> int:
        """How well it fits: literal characters of the patterns that match, 0 when it does not apply."""
        found = [
            (max((_literal(p) for p in patterns if _matches(p, value)), default=-1), patterns)
            for patterns, value in ((self.alerts, alert.name), (self.services, alert.service))
        ]
        if any(patterns and score < 0 for score, patterns in found):
            return 0
        return 1 + sum(score for score, patterns in found if patterns)

    def as_prompt(self) -> str:
        """What a prompt holds of it: its questions, one line for code to read, and its text."""
        calls = [{"name": tool, "args": dict(args)} for tool, args in self.asks]
        asks = f"{_LEAD}{json.dumps(calls, ensure_ascii=False)}\n" if calls else ""
        return (
            f"Runbook {self.path.name} ({self.title}), written beforehand: where to look, not what "
            f"happened.\n{asks}{self.text}"
        )

    def as_dict(self) -> dict[str, str]:
        """The form a report carries."""
        return {"path": str(self.path), "title": self.title}


def _matches(pattern: str, value: str) -> bool:
    return fnmatchcase(value.casefold(), pattern.casefold())


def _literal(pattern: str) -> int:
    return len(re.sub(r"[*?]", "", pattern))


def read_runbook(path: Path) -> Runbook:
    """One file. Raises SourceError, one line, when its front matter is missing or wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise SourceError(f"{path.name}: {error.strerror or error}") from None
    if len(raw) > _LARGEST:
        raise SourceError(f"{path.name}: over {_LARGEST >> 10} KB, a runbook is short")
    match = _FRONT.match(raw.decode("utf-8", "replace"))
    if match is None:
        raise SourceError(f"{path.name}: no front matter; begin with ---, alert: NAME, ---")
    try:
        front = yaml.safe_load(match[1])
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SourceError(f"{path.name}: its front matter is not YAML") from None
    unknown = [str(key) for key in front if key not in _KEYS] if isinstance(front, dict) else []
    for key in unknown:
        if near := get_close_matches(key.lower(), _KEYS, 1):
            raise SourceError(f"{path.name}: unknown key {key!r}; did you mean {near[0]!r}?")
    if not isinstance(front, dict) or not set(_KEYS[:2]) & set(front):
        raise SourceError(f"{path.name}: its front matter needs alert: or service:")
    if unknown:
        raise SourceError(f"{path.name}: unknown key {unknown[0]!r}; there are: {', '.join(_KEYS)}")
    body = match[2].strip()
    title = next(
        (line.lstrip("#").strip() for line in body.splitlines() if line.startswith("#")), ""
    )
    return Runbook(
        path,
        title[:120] or path.stem,
        _patterns(front, "alert", path),
        _patterns(front, "service", path),
        body[:_TEXT] + ("\n(cut)" if len(body) > _TEXT else ""),
        _asks(front.get("ask"), path),
    )


def _patterns(front: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    value = front.get(key)
    rows = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(row, str) and row.strip() for row in rows):
        raise SourceError(f"{path.name}: {key} must be a name or a list of them")
    return tuple(row.strip() for row in rows)


def _asks(value: Any, path: Path) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    if value is None:
        return ()
    rows = value if isinstance(value, list) else [value]
    if len(rows) > _ASKS:
        raise SourceError(f"{path.name}: ask has {len(rows)} questions, at most {_ASKS}")
    found = []
    for row in rows:
        kinds = [key for key in row if key in _TOOLS] if isinstance(row, dict) else []
        for key in map(str, row if isinstance(row, dict) else ()):
            near = get_close_matches(key.lower(), [*_TOOLS, "service"], 1)
            if near and key not in (*_TOOLS, "service"):
                raise SourceError(
                    f"{path.name}: ask: unknown key {key!r}; did you mean {near[0]!r}?"
                )
        if len(kinds) != 1 or set(row) - {*kinds, "service"}:
            raise SourceError(
                f"{path.name}: each of ask is one of metrics, logs, traces with a text, and service"
            )
        if not all(isinstance(one, str | int) and len(str(one)) <= 200 for one in row.values()):
            raise SourceError(
                f"{path.name}: ask: {kinds[0]} must be a text of at most 200 characters"
            )
        tool, argument = _TOOLS[kinds[0]]
        args = {"service": str(row.get("service", "")), argument: str(row[kinds[0]])}
        found.append((tool, tuple(args.items())))
    return tuple(found)


def fitting(
    folders: Iterable[Path], alert: Alert | None, note: Callable[[Unseen], None]
) -> Runbook | None:
    """The runbook that fits the alert best, the first by name among equals; `note` hears of broken ones."""
    if alert is None:
        return None
    best: tuple[int, Runbook] | None = None
    files = [
        f
        for folder in folders
        for f in ([folder] if folder.is_file() else sorted(folder.rglob("*.md")))
    ]
    if len(files) > _MOST:
        note(Unseen("runbooks", f"over the first {_MOST}", len(files) - _MOST))
    for file in files[:_MOST]:
        try:
            one = read_runbook(file)
        except SourceError as error:
            if file.name.lower() != "readme.md":
                note(Unseen(f"runbook {file}", str(error)))
            continue
        score = one.fit(alert)
        if score and (best is None or score > best[0]):
            best = (score, one)
    return best[1] if best else None


def asked_in(prompt: str, known: Iterable[str]) -> list[Call]:
    """The questions a runbook in the prompt asks, for tools that are there; nothing else of it is obeyed."""
    line = next((one for one in prompt.splitlines() if one.startswith(_LEAD)), "")
    try:
        rows = json.loads(line.removeprefix(_LEAD)) if line else []
    except (ValueError, RecursionError):
        return []
    there = set(known)
    calls = []
    for row in rows[:_ASKS] if isinstance(rows, list) else []:
        args = row.get("args") if isinstance(row, dict) else None
        if isinstance(args, dict) and row.get("name") in there:
            texts = {
                k: v
                for k, v in args.items()
                if k in ("service", "metric", "text") and isinstance(v, str)
            }
            calls.append({"name": row["name"], "args": {**texts, "window_minutes": MINUTES}})
    return calls
