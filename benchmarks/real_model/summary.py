"""What the rows come to, and whether they show what is claimed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.real_model.reading import OUTCOMES
from benchmarks.real_model.repeats import ends_early, lines_of
from benchmarks.real_model.runs import GUARDS, MANY

THIRD = f"{MANY} identical calls: a third of the steps"
Rows = Sequence[dict[str, Any]]


def summary(answers: Rows, calls: Rows, runs: Rows) -> dict[str, Any]:
    """Counts of all rows, and the three claims with what speaks for or against each."""
    return {
        "answers": {
            mode: _read([a for a in answers if a["mode"] == mode]) for mode in ("free", "schema")
        },
        "native_calls": {
            choice: dict(Counter(c["call"] for c in calls if c["tool_choice"] == choice))
            for choice in ("auto", "required")
        },
        "runs": {guard: _ended([r for r in runs if r["guard"] == guard]) for guard in GUARDS},
        "claims": claims(answers, runs),
    }


def claims(answers: Rows, runs: Rows) -> dict[str, Any]:
    """(a) no run passes its limits, (b) repeating runs end early, (c) nothing read was made up.
    `holds` is None when no row could show it."""
    passed = [r for r in runs if r["passed_limits"] or not r["journal_whole"]]
    uncounted = [r for r in runs if r["requests"] != r["steps"] + r["probes"]]
    strange = [*(a for a in answers if a.get("strange")), *(r for r in runs if r["strange"])]
    return {
        "no run passes its limits": {
            "runs": len(runs),
            "passed": [_name(r) for r in passed],
            "requests_beside_steps_differ": [_name(r) for r in uncounted],
            "holds": not passed and not uncounted if runs else None,
        },
        THIRD: ends_early(runs),
        "nothing read differs from what was written": {
            "answers": len(answers) + sum(sum(r["answers"].values()) for r in runs),
            "strange": [_name(r) for r in strange],
            "holds": not strange if answers or runs else None,
        },
    }


def of_recorded(rows: Rows) -> dict[str, dict[str, Any]]:
    """Counts by model and mode of answers that were kept."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[f"{row['model']}, {row['mode']}"].append(row)
    return {
        name: {**_read(group), "strange": [_name(r) for r in group if r["strange"]]}
        for name, group in sorted(groups.items())
    }


def _read(rows: Rows) -> dict[str, Any]:
    read = [r for r in rows if "outcome" in r]
    damage: dict[str, Counter[str]] = {}
    for row in read:
        if row["damage"]:
            damage.setdefault(row["damage"], Counter())[row["outcome"]] += 1
    return {
        "n": len(read),
        "failed": len(rows) - len(read),
        **{outcome: sum(r["outcome"] == outcome for r in read) for outcome in OUTCOMES},
        "by_damage": {kind: dict(count) for kind, count in sorted(damage.items())},
        "findings": sum(r["findings"] for r in read),
    }


def _ended(rows: Rows) -> dict[str, Any]:
    if not rows:
        return {"n": 0}
    counts: dict[str, Counter[str]] = {"calls": Counter(), "answers": Counter()}
    for row in rows:
        for key, counter in counts.items():
            counter.update(row[key])
    totals = ("steps", "requests", "actions", "tokens", "kept", "kept_out", "ungrounded")
    return {
        "n": len(rows),
        "stops": dict(Counter(r["stop"] for r in rows)),
        **{key: sum(r[key] for r in rows) for key in totals},
        "median_steps": median(r["steps"] for r in rows),
        "most_identical": max(r["identical"] for r in rows),
        **{key: dict(counter) for key, counter in counts.items()},
    }


def _name(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("case", "seed", "mode", "guard") if key in row)


def as_text(name: str, found: dict[str, Any]) -> str:
    """A screen of it."""
    lines = [f"model: {name}"]
    for mode, row in found["answers"].items():
        lines += answer_lines(f"answers, {mode}", row)
    for choice, row in found["native_calls"].items():
        if row:
            lines.append(f"tools offered, tool_choice {choice}: {_cells(row)}")
    for guard, row in found["runs"].items():
        if row["n"]:
            lines.append(
                f"runs, guard {guard:<9}{row['n']:>3}: steps {row['steps']} (server: "
                f"{row['requests']} requests), actions {row['actions']}, tokens {row['tokens']}, "
                f"ended {_cells(row['stops'])}; findings kept {row['kept']}, kept out "
                f"{row['kept_out']}, not grounded {row['ungrounded']}; calls {_cells(row['calls'])}"
            )
    for claim, row in found["claims"].items():
        word = {True: "holds", False: "DOES NOT HOLD", None: "not shown by these rows"}
        lines.append(f"{claim}: {word[row['holds']]}")
        lines += lines_of(row) if "pairs" in row else []
    return "\n".join(lines)


def answer_lines(name: str, row: dict[str, Any]) -> list[str]:
    """One line of counts, and one a kind of damage."""
    if not row["n"]:
        return []
    cells = "  ".join(f"{key} {row[key]}" for key in OUTCOMES)
    head = f"{name:<30} {row['n']:>3}: {cells}  findings {row['findings']}"
    return [head, *(f"    {kind}: {_cells(count)}" for kind, count in row["by_damage"].items())]


def _cells(row: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in row.items()) or "none"
