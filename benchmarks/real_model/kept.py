"""What was kept of real models, read or played once more: answers (`raw`) and runs (`tool_calls`)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.real_model.playback import play, why_not
from benchmarks.real_model.reading import kept_row
from benchmarks.real_model.repeats import lines_of
from benchmarks.real_model.summary import THIRD, answer_lines, claims, of_recorded
from roundsman.errors import UsageError
from roundsman.policy import load_policy


def of_file(file: Path) -> dict[str, Any]:
    """What the file's lines come to: `answers` by model and mode, `runs` by model.

    Raises:
        UsageError: there is no such file, or a line is neither.
    """
    if not file.is_file():
        raise UsageError(f"--recorded {file}: no such file")
    answers: list[dict[str, Any]] = []
    runs: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        try:
            kept = json.loads(line)
        except ValueError:
            kept = None
        if not isinstance(kept, dict) or not isinstance(kept.get("model"), str):
            raise UsageError(f"--recorded {file}:{number}: no JSON object with a model")
        if "tool_calls" in kept:
            runs[kept["model"]].append((f"line {number}", kept))
        elif "raw" in kept:
            answers.append(kept_row(number, kept))
        else:
            raise UsageError(f"--recorded {file}:{number}: neither an answer nor a run")
    return {
        "answers": of_recorded(answers),
        "runs": {model: _played(those) for model, those in sorted(runs.items())},
    }


def _played(those: list[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Counts and claims of one model's kept runs."""
    most = load_policy("baseline").round.steps or 0
    left = {case: why_not(dict(kept), most) for case, kept in those}
    rows = [row for case, kept in those if not left[case] for row in play(dict(kept), case)]
    return {
        "kept": len(those),
        "played": sum(not why for why in left.values()),
        "not_played": dict(Counter(why for why in left.values() if why)),
        "rows": rows,
        "claims": claims([], rows),
    }


def as_lines(found: Mapping[str, Any]) -> list[str]:
    """A screen of it."""
    lines = [line for name, row in found["answers"].items() for line in answer_lines(name, row)]
    for model, row in found["runs"].items():
        why = ", ".join(f"{n} {what}" for what, n in row["not_played"].items())
        lines.append(
            f"{model}: {row['played']} of {row['kept']} kept runs played back ({why or 'all'})"
        )
        lines += [
            f"    {r['case']}, {r['guard']}: {r['course']}, {r['steps']} steps, ended by {r['stop']}"
            for r in row["rows"]
        ]
        lines += lines_of(row["claims"][THIRD])
    return lines


def against(found: Mapping[str, Any]) -> bool:
    """Whether anything speaks against what is claimed."""
    strange = any(row["strange"] for row in found["answers"].values())
    runs = (claim["holds"] for row in found["runs"].values() for claim in row["claims"].values())
    return strange or any(holds is False for holds in runs)
