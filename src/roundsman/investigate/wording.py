"""A movement or a change in words, every value copied from the entry it was found in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from roundsman.investigate.facts import Changed, Moved

_TEMPLATE = 200
#: what stood where a template has a mask; possessive, so that a failed match costs no more than a scan
_MASKED = {
    re.escape("<id>"): r"(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{8,}+)",
    re.escape("<ip>"): r"(?:\d{1,3}+\.){3}\d{1,3}+(?::\d++)?+",
    re.escape("<n>"): r"(?:0x[0-9a-fA-F]++|\d++(?:[.,]\d++)*+)",
}


def say_moved(moved: Moved) -> str:
    """One movement in words, with the values of its entry."""
    row = moved.row
    who = f"{moved.service} " if moved.service else ""
    if not row.get("moved"):  # a count-down, or what is nearly used up, need not have moved
        how, ended = (
            ("ran out at", row.get("ran_out"))
            if row.get("ran_out")
            else ("is used up from", row.get("emptied"))
        )
        return f"{who}{moved.name} {how} {ended}: {row.get('last')} left"
    if moved.log and row.get("moved") == "vanished":
        lines = f'"{moved.name[:_TEMPLATE]}"'
        return f"{who}logged {row.get('before')} lines of {lines}, and none after {row['onset']}"
    if moved.log:
        if row.get("moved") == "returned":
            often = f'logged again and far more often "{moved.name[:_TEMPLATE]}"'
            return f"{who}{often} from {row['onset']} ({row.get('after')} lines after)"
        verb = "first logged" if row.get("moved") == "appeared" else "logged far more often"
        level = f" [{row.get('level')}]" if row.get("level") else ""
        counts = f"({row.get('before')} lines before, {row.get('after')} after)"
        return f'{who}{verb}{level} "{moved.name[:_TEMPLATE]}" from {row["onset"]} {counts}'
    if row.get("moved") == "appeared":
        return f"{who}{moved.name} had no samples before {row['onset']}, then {row.get('after')}"
    if row.get("moved") == "vanished":
        return f"{who}{moved.name} was {row.get('before')} and has no samples after {row['onset']}"
    if row.get("moved") == "transient":
        values = f"from {row.get('before')} to {row.get('after')}"
        return f"{who}{moved.name} went {values} at {row['onset']} and came back by itself"
    return (
        f"{who}{moved.name} went from {row.get('before')} to {row.get('after')} at {row['onset']}"
    )


def say_change(change: Changed, keys: Sequence[str] = ()) -> str:
    """One change in words, with the keys of its diff (the given ones first)."""
    row = change.row
    of = f" of {change.service}" if change.service else ""
    ships = f" (commit {row['commit']})" if row.get("commit") else ""
    text = f"{row.get('kind')} {row.get('name')}{ships}{of} at {row.get('at')}"
    order = [key for key in keys if key in change.diff]
    order += [key for key in change.diff if key not in order]
    parts = [f"{key} from {change.diff[key][0]} to {change.diff[key][1]}" for key in order[:4]]
    return f"{text} changed {', '.join(parts)}" if parts else text


def text_of(one: Moved) -> str:
    """What the line says, with its numbers; other fields of the record (its own request's) are left out."""
    example = str(one.row.get("example") or "").replace('\\"', '"')
    pattern = r"\s+".join(map(re.escape, one.name.split()))
    for mask, stood in _MASKED.items():
        pattern = pattern.replace(mask, stood)
    found = re.search(pattern, example)
    return found[0] if found else one.name


def literal(template: str) -> str:
    """The longest piece of a template that stands in its lines as it is (no mask, no quote,
    no punctuation: blanks after it are often doubled in the line)."""
    return max(re.split(r"<[^<>]*>|[\"\\]|[:;,]\s", template), key=len).strip()[:100]
