"""The query as a person can run it again without Roundsman: one shell line over the same files."""

from __future__ import annotations

import shlex
from pathlib import Path


def _where(folder: Path, kind: str) -> str:
    place = folder / kind if (folder / kind).exists() else folder / "context" / kind
    return shlex.quote(str(place))


def metrics_line(folder: Path, service: str, metric: str) -> str:
    """Rows of the metric's file; Parquet needs DuckDB, text does not."""
    where = _where(folder, "metrics")
    if not service and not metric:
        return f"head -n 3 {where}/*"
    words = [w for w in (service, metric) if w]
    grep = " | ".join(f"grep -iF -- {shlex.quote(w)}" for w in words[1:])
    first = f"grep -rhiF -- {shlex.quote(words[0])} {where}"
    return f"{first} | {grep}" if grep else first


def logs_line(folder: Path, service: str, text: str) -> str:
    """Lines that hold the text, gzip or not."""
    where = _where(folder, "logs")
    files = f"{where}/*{shlex.quote(service)}*" if service else f"{where}/*"
    return f"zgrep -hiF -- {shlex.quote(text)} {files}"


def changes_line(folder: Path) -> str:
    """The change files as they are."""
    names = ("deploys.json", "deploys.ndjson", "commits.json", "flags.json")
    places = (folder, folder / "context")
    found = [str(p / n) for p in places for n in names if (p / n).is_file()]
    return "cat " + " ".join(map(shlex.quote, found)) if found else ""
