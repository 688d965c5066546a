"""Rows as they come, in a file of JSON lines that a later call goes on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roundsman.errors import UsageError

PARTS = ("answers", "calls", "runs")
_KEYS = ("case", "seed", "mode", "tool_choice", "tools", "guard")


class Rows:
    """Rows by part; a row that the file holds already is not measured again.

    Raises:
        UsageError: the file is of another model, or was measured under other conditions.
    """

    def __init__(self, file: str | None, head: dict[str, Any]) -> None:
        self.parts: dict[str, list[dict[str, Any]]] = {part: [] for part in PARTS}
        self._file = Path(file) if file else None
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}
        if self._file is None:
            return
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        if not lines:
            self._append(head)
            return
        if json.loads(lines[0]) != head:
            raise UsageError(f"--out {file}: begun with {lines[0]}; choose another file")
        for line in lines[1:]:
            row = json.loads(line)
            self._known[_key(row.pop("part"), row)] = row

    def known(self, part: str, **named: Any) -> bool:
        """Whether this row is there; it counts then."""
        row = self._known.get(_key(part, named))
        if row is not None:
            self.parts[part].append(row)
        return row is not None

    def add(self, part: str, row: dict[str, Any]) -> None:
        """A new row."""
        self.parts[part].append(row)
        self._append({"part": part, **row})

    def _append(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _key(part: str, row: dict[str, Any]) -> tuple[Any, ...]:
    return part, *(row.get(key) for key in _KEYS)
