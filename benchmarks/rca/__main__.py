"""`python -m benchmarks.rca SET --cases PATH --truth PATH [--json] [--rename] [--only TEXT] [--keep DIR]`

How often the cause of a recorded incident is found, by the keyless analyst and, in the same run, by plain
baselines. SET is drills, rootcausebench, nezha, petshop or opensre; sets are never pooled. Each case
is written as an incident folder under a neutral name (case-01) and investigated; the answers stay
outside. `--rename` runs every case a second time with its services and source files renamed by hash,
and says whose answer changed. Exit 4 when one did.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.rca import drills, nezha, opensre, petshop, rootcausebench
from benchmarks.rca.baselines import BASELINES, Said
from benchmarks.rca.cases import Case, Truth
from benchmarks.rca.rename import rename
from benchmarks.rca.score import by, calibration, category_of, judge, summary
from roundsman.errors import UsageError

SETS: dict[str, Callable[[Path, Path], list[Case]]] = {
    "drills": drills.read,
    "rootcausebench": rootcausebench.read,
    "nezha": nezha.read,
    "petshop": petshop.read,
    "opensre": opensre.read,
    "invented": drills.read,
}

_NOT_SO = (ValueError, LookupError, TypeError, AttributeError, StopIteration, tarfile.TarError)
"""What reading a file of another form raises."""
_EXPECTED = "--truth is a folder for drills and invented (or that of --cases), the file of answers for others"


def analyst(folder: Path, model: str = "analyst", policy: str = "default") -> Said:
    """What an investigation says, with the journal of each case in a place of its own."""
    from roundsman.investigate.run import investigate
    from roundsman.ledger import open_store
    from roundsman.policy import load_policy

    with tempfile.TemporaryDirectory() as home:
        store = open_store(Path(home))
        begun = time.perf_counter()
        report, _ = investigate(folder, load_policy(policy), model=model, store=store)
        seconds = time.perf_counter() - begun
    cause = report["cause"]
    named = [] if cause["abstained"] else [str(cause["service"] or "")]
    ranked = [str(one["service"]) for one in report.get("services") or []]
    return Said(
        services=tuple(dict.fromkeys(filter(None, [*named, *ranked]))),
        change=str(cause["change"] or "") if not cause["abstained"] else "",
        accuses=not cause["abstained"],
        confidence=str(cause["confidence"]),
        first_failing=str(cause.get("first_failing") or ""),
        category=category_of(str(cause["kind"] or "")),
        seconds=seconds,
        tokens=int(report["usage"].get("tokens") or 0),
        detail={
            key: cause.get(key)
            for key in ("service", "change", "kind", "because", "statement", "caution")
        },
    )


def _one(
    case: Case, neutral: str, method: str, out: Path, renamed: bool, options: Any
) -> dict[str, Any]:
    folder = out / neutral
    truth = case.truth
    if not folder.is_dir():
        folder.mkdir(parents=True)
        case.write(folder)
        if renamed:
            names = rename(folder, case.names)
            (out / f"{neutral}.names.json").write_text(json.dumps(names))
    if renamed:
        names = json.loads((out / f"{neutral}.names.json").read_text())
        truth = replace(truth, services=tuple(names.get(one, one) for one in truth.services))
    said = (
        analyst(folder, options.model, options.policy)
        if method == "analyst"
        else BASELINES[method](folder)
    )
    return {
        "case": neutral,
        "source": case.source,
        "kind": case.kind,
        "method": method,
        "judged": judge(truth, said),
        "accuses": said.accuses,
        "confidence": said.confidence,
        "services": list(said.services[:3]),
        "seconds": round(said.seconds, 2),
        "tokens": said.tokens,
        "detail": said.detail,
    }


def run(cases: Sequence[Case], out: Path, renamed: bool, options: Any) -> list[dict[str, Any]]:
    """Every case with every method."""
    rows = []
    methods = ["analyst"] if renamed else ["analyst", *BASELINES]
    for number, case in enumerate(cases, start=1):
        neutral = f"case-{number:02}"
        if options.only and options.only not in case.source:
            continue
        rows += [_one(case, neutral, method, out, renamed, options) for method in methods]
        shown = "right" if rows[-len(methods)]["judged"]["right"] else "wrong"
        print(f"{neutral} {shown}", file=sys.stderr, flush=True)
    return rows


def _print(name: str, rows: Sequence[dict[str, Any]]) -> None:
    print(f"{name}: {len({row['case'] for row in rows})} cases")
    for method, mine in by(rows, lambda row: row["method"]).items():
        counts = "  ".join(f"{key} {value}" for key, value in summary(mine).items())
        print(f"  {method:12} {counts}")
        kinds = by(mine, lambda row: row["kind"])
        if method == "analyst":
            if len(kinds) > 1:
                for kind, some in kinds.items():
                    counts = "  ".join(f"{key} {value}" for key, value in summary(some).items())
                    print(f"    {kind or '-':20} {counts}")
            seconds = sorted(row["seconds"] for row in mine)
            tokens = sum(row["tokens"] for row in mine) / len(mine)
            print(
                f"    seconds a case: median {seconds[len(seconds) // 2]:.1f}, "
                f"most {seconds[-1]:.1f}; tokens a case: {tokens:.0f}"
            )
            table = "  ".join(f"{key} {value}" for key, value in calibration(mine).items())
            print(f"    right by stated confidence: {table or 'nothing was accused'}")


def _print_cases(rows: Sequence[dict[str, Any]], truths: dict[str, Truth]) -> None:
    for row in rows:
        if row["method"] == "analyst":
            mark = "ok   " if row["judged"]["right"] else "WRONG"
            detail = row["detail"]
            print(f"{mark} {row['case']} {row['source']}")
            print(f"      truth {truths[row['source']]}"[:220])
            print(
                f"      {row['services']} {detail['kind']} {row['confidence']} {row['seconds']} s"
            )
            print(f"      change {detail['change']}"[:200])
            print(f"      because {detail['because']}"[:300])


def _read(name: str, cases: Path, truth: Path) -> list[Case]:
    """The cases of a set.

    Raises:
        UsageError: it is not there, or not in the form of that set.
    """
    for path in (cases, truth):
        if not path.exists():
            raise UsageError(f"{path}: not there")
    try:
        found = SETS[name](cases, truth)
    except OSError as error:
        what = error.filename or cases
        raise UsageError(f"{what}: {error.strerror or error}; {_EXPECTED}") from None
    except _NOT_SO as error:
        said = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise UsageError(
            f"{cases} with the answers {truth} is not read as {name} ({said}); {_EXPECTED}"
        ) from None
    if not found:
        raise UsageError(f"{cases}: no case of {name} in it")
    return found


def main() -> int:
    """Read the set, investigate, print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rca", description=__doc__)
    parser.add_argument("set", choices=sorted(SETS))
    parser.add_argument("--cases", type=Path, required=True, help="the data set")
    parser.add_argument("--truth", type=Path, required=True, help="its answers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rename", action="store_true", help="also with names hashed")
    parser.add_argument("--only", default="", help="cases whose source contains this")
    parser.add_argument("--keep", type=Path, help="write the case folders here and keep them")
    parser.add_argument("--show", action="store_true", help="each case beside its truth")
    parser.add_argument("--model", default="analyst")
    parser.add_argument("--policy", default="default")
    options = parser.parse_args()
    try:
        cases = _read(options.set, options.cases, options.truth)
    except UsageError as error:
        print(f"benchmarks.rca: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="roundsman-rca-") as scratch:
        out = options.keep or Path(scratch)
        rows = run(cases, out / "plain", False, options)
        again = run(cases, out / "renamed", True, options) if options.rename else []
    before = {row["case"]: row for row in rows if row["method"] == "analyst"}
    changed = [row for row in again if row["judged"] != before[row["case"]]["judged"]]
    if options.json:
        content = {"set": options.set, "rows": rows, "renamed": again}
        content["changed_by_renaming"] = [row["case"] for row in changed]
        print(json.dumps(content, indent=1))
    else:
        if options.show:
            _print_cases(rows, {case.source: case.truth for case in cases})
        _print(options.set, rows)
        if options.rename:
            names = ", ".join(f"{r['case']} ({r['source']})" for r in changed)
            print(f"  renamed by hash: {len(again)} cases, changed answers: {names or 'none'}")
    return 4 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
