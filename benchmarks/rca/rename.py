"""An incident folder with its services and source files renamed by hash: nothing may depend on a name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from roundsman.sources import IncidentFolder

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
_FILE_KEYS = ("files", "files_changed")
_PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\.[A-Za-z]{1,8}")
_HEAD = re.compile(r"^(?:@@|\+\+\+|---) .*", re.MULTILINE)
_DATA = (".json", ".ndjson", ".jsonl", ".csv", ".log", ".txt", ".yaml", ".yml")


def hashed(name: str, first: str = "s") -> str:
    """A name of letters only, so that no masking of numbers and ids touches it."""
    found = hashlib.blake2b(name.encode(), digest_size=5).hexdigest()
    return first + found.translate(_LETTERS)


def _files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("commits.json"):
        for record in json.loads(path.read_text(encoding="utf-8")):
            listed: Any = next((record[key] for key in _FILE_KEYS if record.get(key)), [])
            yield from (str(one) for one in listed)
            heads = _HEAD.findall(str(record.get("diff") or ""))
            yield from _PATH.findall(" ".join(heads))


def _file_name(path: str) -> str:
    """Every folder and the stem hashed; the ending stays, as a language is no name."""
    *folders, name = path.split("/")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return path
    return "/".join([*(hashed(one, "d") for one in folders), hashed(stem, "f") + dot + ending])


def rename(folder: Path, names: Iterable[str] = ()) -> dict[str, str]:
    """Rename in place; what every service is called now. Longer names are replaced first."""
    services = {name for name in [*IncidentFolder(folder).services(), *names] if len(name) > 1}
    new = {name: hashed(name) for name in services}
    paths = {path: _file_name(path) for path in _files(folder) if "." in path}
    bases = {path.rpartition("/")[2]: to.rpartition("/")[2] for path, to in paths.items()}
    table = {**bases, **paths, **new}
    if not table:
        return new
    longest = sorted(table, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![A-Za-z0-9_])(" + "|".join(map(re.escape, longest)) + r")(?![A-Za-z0-9_])"
    )
    for path in sorted(folder.rglob("*"), key=lambda one: -len(one.parts)):
        if path.is_file() and path.suffix in _DATA:
            text = path.read_text(encoding="utf-8", errors="replace")
            path.write_text(pattern.sub(lambda m: table[m[1]], text), encoding="utf-8")
            stem = path.stem
            if stem in new:
                path.rename(path.with_name(new[stem] + path.suffix))
    return new
