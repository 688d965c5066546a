"""Deploys, commits and feature flags of an incident folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.fields import first_of
from roundsman.sources.protocols import Change
from roundsman.sources.times import parse_time

_TIME = (
    "timestamp", "ts", "time", "at", "deployed_at", "finished_at", "started_at", "merged_at",
    "changed_at", "updated_at", "toggled_at", "date", "created_at", "author_date",
)  # fmt: skip
_SERVICE = ("service", "service_name", "app", "application", "component", "repo", "repository")
_NAME = ("version", "name", "flag", "key", "sha", "id", "commit", "title", "image")
_TEXT = (
    "message",
    "description",
    "summary",
    "notes",
    "title",
    "files",
    "files_changed",
    "diff",
    "patch",
    "change",
    "commit_sha",
    "commit",
)
_BEFORE = ("previous_env", "previous_config", "old_env", "old_config", "before", "previous", "from")
_AFTER = ("env", "config", "new_env", "new_config", "after", "to", "value")
_COMMIT = ("commit_sha", "commit", "sha", "revision", "git_sha")
_PATCH = ("patch", "diff")
_PREVIOUS = ("previous_version", "previous_revision", "old_version")
_LONGEST_PATCH = 60_000
_ARROW = re.compile(r"^\s*(\S{1,40})\s*(?:->|→|=>)\s*(\S{1,40})\s*$")
_LISTS = ("deploys", "deployments", "commits", "flags", "feature_flags", "changes", "items", "data")


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix or "value": value} if value is not None else {}
    out: dict[str, Any] = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        out |= _flat(inner, name) if isinstance(inner, dict) else {name: inner}
    return out


def _records(path: Path) -> list[dict[str, Any]]:
    text = path.read_bytes().decode("utf-8", "replace").strip()
    if not text:
        raise SourceError(f"{path.name}: empty file, expected a JSON list")
    try:
        content = json.loads(text)
    except RecursionError:
        raise SourceError(f"{path.name}: nested too deeply, expected a JSON list") from None
    except ValueError:
        content = []
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                content += [json.loads(line)] if line.strip() else []
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path.name}:{number}: not JSON: {error}") from None
    if isinstance(content, dict):
        inner = next((content[k] for k in _LISTS if isinstance(content.get(k), list)), None)
        content = inner if inner is not None else [content]
    return [record for record in content if isinstance(record, dict)]


def _diff(record: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    explicit = record.get("config_diff") or record.get("env_diff") or record.get("config_changes")
    if isinstance(explicit, dict):
        out: dict[str, tuple[Any, Any]] = {}
        for key, pair in explicit.items():
            if isinstance(pair, list) and len(pair) == 2:
                out[str(key)] = (pair[0], pair[1])
            elif isinstance(pair, dict):
                out[str(key)] = (
                    first_of(pair, ("old", *_BEFORE)),
                    first_of(pair, ("new", *_AFTER)),
                )
        return out
    before, after = first_of(record, _BEFORE), first_of(record, _AFTER)
    if before is None or after is None or isinstance(before, dict) != isinstance(after, dict):
        return {}
    old, new = _flat(before), _flat(after)
    keys = list(dict.fromkeys([*old, *new]))
    return {key: (old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)}


def _switched(record: dict[str, Any], kind: str, name: str) -> dict[str, tuple[Any, Any]]:
    """A flag whose values stand in one text, as `off->on`."""
    found = _ARROW.match(str(record.get("change") or "")) if kind == "flag" else None
    return {name: (found[1], found[2])} if found else {}


def read_change_file(path: Path, kind: str) -> tuple[list[Change], int]:
    """Changes of one file, oldest first, and how many records had no readable time.

    A deploy that carries its configuration but not the one before is compared with the deploy of
    the same service before it. Raises SourceError, one line with file and line, when it is not JSON.
    """
    dated = [(parse_time(first_of(record, _TIME)), record) for record in _records(path)]
    if dated and all(at is None for at, _ in dated):
        # passed over in silence it would read as "nothing was deployed"
        fields = ", ".join(_TIME[:5])
        written = next((w for w in (first_of(r, _TIME) for _, r in dated) if w is not None), None)
        if written is not None:
            raise SourceError(f"{path.name}: no time can be read; one is {str(written)[:40]!r}")
        raise SourceError(f"{path.name}: no record has a time; expected one of {fields} in each")
    known = sorted(((at, r) for at, r in dated if at is not None), key=lambda pair: pair[0])
    last: dict[str, Any] = {}
    out: list[Change] = []
    for at, record in known:
        service = str(first_of(record, _SERVICE) or "")
        config = first_of(record, _AFTER)
        if first_of(record, _BEFORE) is None and isinstance(config, dict) and service in last:
            record = {**record, "previous_env": last[service], "env": config}
        if isinstance(config, dict):
            last[service] = config
        text = " ".join(str(record[k]) for k in _TEXT if record.get(k))
        name = str(first_of(record, _NAME) or kind)
        diff = _diff(record) or _switched(record, kind, name)
        commit = first_of(record, _COMMIT)
        patch = first_of(record, _PATCH)
        out.append(
            Change(
                at,
                kind,
                service,
                name,
                diff,
                text[:2000],
                commit if isinstance(commit, str) else name if kind == "commit" else "",
                patch[:_LONGEST_PATCH] if isinstance(patch, str) else "",
                any(key in record and record[key] is None for key in _PREVIOUS),
            )
        )
    return out, len(dated) - len(known)
