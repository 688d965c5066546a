"""Reports as files: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roundsman.errors import UsageError
from roundsman.report.html import to_html
from roundsman.report.markdown import to_markdown

# Legal raw in JSON, but a terminal acts on C1 controls and direction marks when someone looks at
# the file; the other controls are escaped by the encoder itself.
_RISKY = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def to_json(report: object) -> str:
    """The report (or any plain data) as valid JSON text.

    NaN and infinities are null, halves of surrogate pairs U+FFFD.
    """
    text = json.dumps(_plain(report), ensure_ascii=False, indent=2, allow_nan=False)
    return _RISKY.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text) + "\n"


def write_all(report: Mapping[str, Any], out_dir: str | Path) -> list[Path]:
    """Write report.json, report.md and report.html into `out_dir` (made when missing).

    Each file is replaced in one move. Raises UsageError when the directory cannot be written.
    """
    out = Path(out_dir)
    written: list[Path] = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        # JSON first: it is the one from which the others can be made again.
        for name, render in _FILES.items():
            written.append(_replace(out / name, render(report)))
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        shown = "".join(char if char.isprintable() else "?" for char in str(out))
        raise UsageError(
            f"cannot write the report to {shown}: {why}; choose another directory with --out"
        ) from error
    return written


_FILES = {"report.json": to_json, "report.md": to_markdown, "report.html": to_html}


def _replace(target: Path, text: str) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
        # mkstemp makes private files; a report is meant to be passed on.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return target


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if depth > 100:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item(), depth + 1) if not hasattr(value, "__len__") else str(value)
    return _SURROGATES.sub("\ufffd", str(value))
