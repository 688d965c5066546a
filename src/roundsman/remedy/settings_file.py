"""One setting of a file changed, and nothing else of it: the text stays as people wrote it."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

LARGEST = 1024 * 1024
_SHELL = re.compile(r"""[$`\\"'\n\r]""")
"""A shell that reads lines of KEY=VALUE would see more than a value in these."""


class CannotEdit(Exception):
    """Why this file or this key is not changed; nothing was."""


def kind_of(path: Path) -> str:
    """`json`, `yaml` or `env` (lines of KEY=VALUE), by the file's name."""
    ending = path.suffix.lower()
    if ending == ".json":
        return "json"
    return "yaml" if ending in (".yaml", ".yml") else "env"


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        CannotEdit: it cannot be read, or is too large to be a file of settings.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise CannotEdit(f"{path} is larger than {LARGEST >> 20} MB: no file of settings")
        return raw.decode("utf-8")
    except OSError as error:
        raise CannotEdit(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CannotEdit(f"{path} is no UTF-8 text") from None


def value_of(path: Path, key: str) -> Any:
    """The key's value now; keys are told by their own name, wherever in the file they stand.

    Raises:
        CannotEdit: the key is not there, or there several times.
    """
    kind, text = kind_of(path), read_text(path)
    return _value(kind, _only(path, kind, text, key)["value"])


def with_values(path: Path, values: Mapping[str, Any]) -> str:
    """The file's text with these keys set; checked by reading it back.

    Raises:
        CannotEdit: a key is not there once, a value cannot be written, or anything else would change.
    """
    kind, text = kind_of(path), read_text(path)
    changed = text
    for key, value in values.items():
        if kind == "env" and _SHELL.search(as_text(value)):
            raise CannotEdit(f"{path}: {key} cannot be written as {value!r}; change it by hand")
        match = _only(path, kind, changed, key)
        written = _written(kind, value, match["value"])
        changed = changed[: match.start("value")] + written + changed[match.end("value") :]
        found = _found(kind, changed, key)
        if len(found) != 1 or _value(kind, found[0]["value"]) != value:
            raise CannotEdit(f"{path}: {key} cannot be written as {value!r}; change it by hand")
    _check(path, kind, text, changed, set(values))
    return changed


def replace(path: Path, text: str) -> None:
    """Put a new text in place of the file's in one step, with its mode and owner.

    Raises:
        CannotEdit: it cannot be written; the old text is still there.
    """
    target = path.resolve()
    try:
        before = target.stat()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise CannotEdit(f"{path}: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(before.st_mode))
        if (before.st_uid, before.st_gid) != (os.stat(name).st_uid, os.stat(name).st_gid):
            os.chown(name, before.st_uid, before.st_gid)  # else its service might not read it
        os.replace(name, target)
    except OSError as error:
        with suppress(OSError):
            os.unlink(name)
        raise CannotEdit(f"{path}: {error.strerror or error}") from None


def same(one: Any, other: Any) -> bool:
    """Whether two values are one, however they are written: `4`, `"4"` and 4."""
    return one == other or as_text(one) == as_text(other)


def as_text(value: Any) -> str:
    """A value as it stands in a file without types."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


_PATTERNS = {
    "json": r'"{key}"\s*:\s*(?P<value>"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+|true|false|null)',
    "yaml": r"""^[ ]*(?:-[ ]+)?["']?{key}["']?[ ]*:[ ]+(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|"""
    r"""[^\s#"'\[{{|>&*!][^\n#]*?)(?=[ ]*(?:[ ]\#[^\n]*)?$)""",
    "env": r"""^[ \t]*(?:export[ \t]+)?{key}[ \t]*=[ \t]*(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s#"'][^\n#]*?|)"""
    r"""(?=[ \t]*(?:[ \t]\#[^\n]*)?$)""",
}


def _found(kind: str, text: str, key: str) -> list[re.Match[str]]:
    pattern = _PATTERNS[kind].format(key=re.escape(key))
    return list(re.finditer(pattern, text, re.MULTILINE))


def _only(path: Path, kind: str, text: str, key: str) -> re.Match[str]:
    found = _found(kind, text, key)
    if len(found) != 1:
        how = "is not in it" if not found else f"stands in it {len(found)} times"
        raise CannotEdit(f"{path}: {key} {how}; change it by hand")
    return found[0]


def _value(kind: str, text: str) -> Any:
    if kind == "env":
        plain = text.strip()
        return plain[1:-1] if plain[:1] in "\"'" and plain[:1] else plain
    try:
        return json.loads(text) if kind == "json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return text


def _written(kind: str, value: Any, before: str) -> str:
    if kind == "json":
        return json.dumps(value, ensure_ascii=False)
    text = as_text(value) if isinstance(value, bool | int | float) else str(value)
    if kind == "env":
        quote = before[:1] if before[:1] in ("'", '"') else ""
        needs = quote or ('"' if re.search(r"[\s#\"'$`\\]", text) else "")
        return f"{needs}{text}{needs}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else text


def _check(path: Path, kind: str, before: str, after: str, keys: set[str]) -> None:
    """Nothing but these keys may differ, as a program reads the file."""
    try:
        if kind == "env":
            old, new = before.count("\n"), after.count("\n")
        else:
            load = json.loads if kind == "json" else yaml.safe_load
            old, new = _without(load(before), keys), _without(load(after), keys)
    except (ValueError, yaml.YAMLError, RecursionError):
        raise CannotEdit(f"{path} is no whole {kind.upper()}; change it by hand") from None
    if old != new:
        raise CannotEdit(f"{path}: more than {', '.join(sorted(keys))} would change; do it by hand")


def _without(data: Any, keys: set[str]) -> Any:
    if isinstance(data, dict):
        return {k: None if k in keys else _without(v, keys) for k, v in data.items()}
    return [_without(one, keys) for one in data] if isinstance(data, list) else data
