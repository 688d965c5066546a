"""The query as a person can run it again without Roundsman: one shell line over the same files.

Service names and texts come from logs and models, so they are somebody else's. A line holds only
characters that every screen shows as they are: whatever shows it has no reason to change it, and
must not, since a character taken out of a quoted line can move its quotes.
"""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path

_LONGEST = 160
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


def _where(folder: Path, kind: str) -> str:
    return _quoted(folder / kind if (folder / kind).exists() else folder / "context" / kind)


def metrics_line(folder: Path, service: str, metric: str) -> str:
    """Rows of the metric's file, or nothing; Parquet needs DuckDB, text does not."""
    where = _where(folder, "metrics")
    if not where:
        return ""
    words = [shlex.quote(piece) for w in (service, metric) if (piece := plain_piece(w))]
    if not words:
        return f"head -n 3 -- {where}/*"
    first = f"grep -rhiF -- {words[0]} {where}"
    return " | ".join([first, *(f"grep -iF -- {word}" for word in words[1:])])


def logs_line(folder: Path, service: str, text: str) -> str:
    """Lines that hold the text, gzip or not; nothing when the folder's path cannot be shown."""
    where = _where(folder, "logs")
    if not where:
        return ""
    # a slash would lead out of the folder
    part = plain_piece(service).rpartition("/")[2]
    files = f"{where}/*{shlex.quote(part)}*" if part else f"{where}/*"
    return f"zgrep -hiF -- {shlex.quote(plain_piece(text))} {files}"


def traces_line(folder: Path) -> str:
    """The trace files and the call graph as they are."""
    names = ("traces", "traces.json", "traces.ndjson", "traces.jsonl", "traces.csv", "graph.csv")
    places = (folder, folder / "context")
    found = [_quoted(p / n) for p in places for n in names if (p / n).exists()]
    return "zgrep -h '' -r -- " + " ".join(found) if found and all(found) else ""


def changes_line(folder: Path) -> str:
    """The change files as they are."""
    names = ("deploys.json", "deploys.ndjson", "commits.json", "flags.json")
    places = (folder, folder / "context")
    found = [_quoted(p / n) for p in places for n in names if (p / n).is_file()]
    return "cat -- " + " ".join(found) if found and all(found) else ""
