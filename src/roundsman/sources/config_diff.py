"""Settings that a diff changes, read from its lines: `POOL_SIZE: 4` -> `POOL_SIZE: 40`."""

from __future__ import annotations

import re
from typing import Any

#: files that hold settings rather than code
_FILES = re.compile(
    r"\.(?:ya?ml|json|toml|ini|cfg|conf|env|properties|tf|tfvars|hcl|xml|cnf)$|(?:^|/)\.?env[\w.-]*$|"
    r"(?:^|/)(?:VERSION|Dockerfile[\w.-]*|config[\w-]*)$",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"""^\s*(?:-\s+|export\s+|ENV\s+|ARG\s+)?["']?(?P<key>[\w.\-/]{1,80})["']?\s*(?:=>|[:=])\s*(?P<value>.*?)[,;]?\s*$"""
)
_BARE = re.compile(r"^\s*(?P<value>v?\d[\w.+-]*)\s*$")
_NAMED = re.compile(r"^\s*-?\s*[\"']?name[\"']?\s*:\s*[\"']?(?P<key>[\w.\-]{1,80})[\"']?,?\s*$")
_NUMBER = re.compile(r"-?\d{1,18}|-?\d{0,18}\.\d{1,18}(?:[eE][+-]?\d{1,2})?")
_MOST = 40


def config_diff(text: str) -> dict[str, tuple[Any, Any]]:
    """Key -> (before, after) of the files of settings in a unified diff; None where it was not there.

    Keys are those of the lines themselves: in nested files only the innermost. A key that occurs in
    several places of one file is left out when its lines cannot be paired. In lists of name and value
    the name is the key.
    """
    found: dict[str, tuple[Any, Any]] = {}
    before: dict[str, list[Any]] = {}
    after: dict[str, list[Any]] = {}
    name, wanted, named = "", False, ""

    def close() -> None:
        for key in dict.fromkeys([*before, *after]):
            old, new = before.get(key, []), after.get(key, [])
            if len(old) <= 1 and len(new) <= 1 and len(found) < _MOST:
                pair = (old[0] if old else None, new[0] if new else None)
                if pair[0] != pair[1]:
                    found.setdefault(key, pair)
        before.clear()
        after.clear()

    for line in text.splitlines():
        if line.startswith("diff --git "):
            close()
            name = line.rpartition(" b/")[2]
            wanted, named = bool(_FILES.search(name)), ""
        elif line.startswith("new file mode"):
            wanted = False  # nothing was there before: no setting was changed
        elif line.startswith(("+++ ", "--- ", "@@", "index ")) or not wanted:
            continue
        elif line[:1] in (" ", "+", "-"):
            body = line[1:]
            list_name = _NAMED.match(body)
            if list_name:
                named = list_name["key"]
            if line[0] == " ":
                continue
            if list_name and named:
                continue
            key, value = _setting(body, name)
            if key:
                key = named if key == "value" and named else key
                (before if line[0] == "-" else after).setdefault(key, []).append(value)
    close()
    return found


def _setting(line: str, name: str) -> tuple[str, Any]:
    match = _PAIR.match(line)
    if match:
        text = match["value"].strip()
        return ("", None) if text in ("", "{", "[", "|", ">") else (match["key"], _value(text))
    bare = _BARE.match(line)
    return (name.rpartition("/")[2], _value(bare["value"])) if bare else ("", None)


def _value(text: str) -> Any:
    plain = text.strip().strip("\"'")
    if plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if _NUMBER.fullmatch(plain):
        return float(plain) if set(plain) & set(".eE") else int(plain)
    return plain[:200]
