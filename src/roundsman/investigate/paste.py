"""The query as a person can run it again without Roundsman: one shell line to the same place.

Service names and texts come from logs and models, so they are somebody else's. A line holds only
characters that every screen shows as they are: whatever shows it has no reason to change it, and
must not, since a character taken out of a quoted line can move its quotes.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from roundsman.sources import Window
from roundsman.sources.protocols import Command

if TYPE_CHECKING:
    from roundsman.investigate.incident import Incident

_LONGEST, _LONGEST_WORD = 160, 600
"""Characters of one word: a line has to be read before it is run."""


def _shown(char: str) -> bool:
    # fish reads a backslash inside single quotes, other shells do not
    return char.isprintable() and char != "\\"


def plain_piece(text: str) -> str:
    """The longest stretch of a text without control, invisible or foreign blank characters.

    A search for the piece finds at least the lines a search for the whole text finds.
    """
    pieces = ["".join(run) for good, run in groupby(text, _shown) if good]
    return max((one.strip() for one in pieces), key=len, default="")[:_LONGEST].rstrip()


def _quoted(path: Path) -> str:
    """The path as one word, or nothing when it cannot be shown as it is: a path has no prefix."""
    text = str(path)
    return shlex.quote(text) if all(map(_shown, text)) else ""


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these that the folder, or its `context/`, has."""
    places = (place / name for place in (folder, folder / "context") for name in names)
    return next((one for one in places if one.exists()), None)


def line(incident: Incident, kind: str, window: Window, service: str = "", text: str = "") -> str:
    """The line for one kind of telemetry: over the folder's files, else as the source asks; or nothing."""
    found = ""
    if incident.path is not None:
        lines = {
            "metrics": lambda at: metrics_line(at, service, text),
            "logs": lambda at: logs_line(at, service, text),
            "traces": traces_line,
            "changes": changes_line,
        }
        found = lines[kind](incident.path)
    command = None if found else incident.source.command(kind, window, service, text)
    return command_line(command) if command else found


def command_line(command: Command) -> str:
    """The command's words, quoted; nothing when one cannot be shown as it is.

    Headers stand in double quotes, so that the shell puts their `${NAME}` in; nothing else of them
    means anything there (`sources/http.py` lets no such character in).
    """
    if any(len(w) > _LONGEST_WORD or not all(map(_shown, w)) for w in command.words):
        return ""
    first, *rest = map(shlex.quote, command.words)
    return " ".join([first, *(f'-H "{one}"' for one in command.headers), *rest])


def metrics_line(folder: Path, service: str, metric: str) -> str:
    """Rows of the metric's file, or nothing; Parquet needs DuckDB, text does not."""
    found = _first(folder, ("metrics", "metrics.csv"))
    where = _quoted(found) if found else ""
    if not found or not where:
        return ""
    words = [shlex.quote(piece) for w in (service, metric) if (piece := plain_piece(w))]
    if not words:
        return f"head -n 3 -- {where}{'/*' if found.is_dir() else ''}"
    first = f"grep -rhiF -- {words[0]} {where}"
    return " | ".join([first, *(f"grep -iF -- {word}" for word in words[1:])])


def logs_line(folder: Path, service: str, text: str) -> str:
    """Lines that hold the text, gzip or not; nothing when the folder's path cannot be shown."""
    found = _first(folder, ("logs",)) or _of_top_logs(folder)
    where = _quoted(found) if found else ""
    if not found or not where:
        return ""
    # a slash would lead out of the folder
    part = plain_piece(service).rpartition("/")[2]
    named = part and any(part.lower() in file.name.lower() for file in found.iterdir())
    files = f"{where}/*{shlex.quote(part)}*" if named else f"{where}/*{_of_top(folder, found)}"
    piece = plain_piece(text)
    if not piece:  # a line that prints whole files helps nobody
        return f"zcat -f -- {files} | head -n 20"
    return f"zgrep -hiF -- {shlex.quote(piece)} {files}"


def _of_top_logs(folder: Path) -> Path | None:
    """Where log files lie beside the rest, as `app.log` or `logs.ndjson`."""
    places = (folder, folder / "context")
    return next((p for p in places if any(p.glob("*log*"))), None)


def _of_top(folder: Path, found: Path) -> str:
    return "log*" if found in (folder, folder / "context") else ""


def traces_line(folder: Path) -> str:
    """The trace files and the call graph as they are."""
    names = ("traces", "traces.json", "traces.ndjson", "traces.jsonl", "traces.csv", "graph.csv")
    places = (folder, folder / "context")
    found = [_quoted(p / n) for p in places for n in names if (p / n).exists()]
    return "grep -rhI '' -- " + " ".join(found) if found and all(found) else ""


def changes_line(folder: Path) -> str:
    """The change files as they are."""
    names = ("deploys.json", "deploys.ndjson", "commits.json", "flags.json")
    places = (folder, folder / "context")
    found = [_quoted(p / n) for p in places for n in names if (p / n).is_file()]
    return "cat -- " + " ".join(found) if found and all(found) else ""
