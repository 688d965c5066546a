"""All drills, with and without their fault: `python -m benchmarks.drills [--out DIR] [--jobs N] [NAME ...]`.

For each: whether its check holds with the fault and fails without it, how long until the system was
ready, until the fault was visible in Prometheus and until the alert, how large the recording is, and
what the built-in analyst says of it beside the truth. Takes two minutes a run; exit 4 when a check did
not do its work.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def roundsman(*args: str) -> tuple[int, Any, str]:
    """Exit code, standard output as JSON (None when it is none) and standard error of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", *args, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, None, done.stderr


def one_run(name: str, out: Path, options: Sequence[str]) -> dict[str, Any]:
    """One recording; a drill that cannot run here says why instead."""
    code, result, said = roundsman("drill", "run", name, "--out", str(out), *options)
    if result is None:
        return {"failed": said.strip().splitlines()[-1] if said.strip() else f"exit {code}"}
    found: dict[str, Any] = result
    return found


def verdict(name: str, result: dict[str, Any]) -> tuple[bool, str]:
    """Whether the analyst is right about a recording, and what it says."""
    code, report, said = roundsman("investigate", result["incident"])
    if report is None:
        return False, said.strip().splitlines()[-1] if said.strip() else f"exit {code}"
    cause = report["cause"]
    truth = json.loads(Path(result["truth"]).read_text())
    if cause["abstained"]:
        return truth["harmless"], "no cause found"
    text = f"{cause['service']}: {cause['change'] or cause['kind']} ({cause['confidence']})"
    right = not truth["harmless"] and cause["service"] == truth["service"]
    if truth["change"] is None:
        return right and not cause["change"], text
    # the release and its commit are the same change
    same = (truth["change"], truth["commit"])
    return right and any(one in str(cause["change"]) for one in same if one), text


def failed_checks(result: dict[str, Any]) -> list[str]:
    """What of a drill's check was not seen."""
    return [f"{row['what']} ({row['seen']})" for row in result.get("checks", []) if not row["ok"]]


def main() -> int:
    """Run, print one table, and say whether every check did its work."""
    from roundsman.drill.catalogue import DRILLS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.drills", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these drills instead of all")
    parser.add_argument("--out", type=Path, help="keep the recordings in DIR/NAME")
    parser.add_argument("--jobs", type=int, default=1, help="drills at once")
    parser.add_argument("--baseline", default="40s")
    parser.add_argument("--outage", default="60s")
    parser.add_argument("--decoys", default="0")
    parser.add_argument("--no-control", action="store_true", help="only with the fault")
    options = parser.parse_args()
    names = options.names or list(DRILLS)
    out: Path = options.out or Path(tempfile.mkdtemp(prefix="roundsman-drills-"))
    common = ["--baseline", options.baseline, "--outage", options.outage]

    short = ["--baseline", "25s", "--outage", "40s"]

    def measure(name: str) -> tuple[dict[str, Any], dict[str, Any] | None, tuple[bool, str]]:
        made = one_run(name, out / name, [*common, "--decoys", options.decoys])
        control = None
        if not options.no_control and "failed" not in made:
            with tempfile.TemporaryDirectory() as folder:
                control = one_run(name, Path(folder) / name, [*short, "--without-fault"])
        said = verdict(name, made) if "failed" not in made else (False, "")
        print(f"{name} done", file=sys.stderr)
        return made, control, said

    print(f"{'drill':20} {'ready':>6} {'seen':>6} {'alert':>6} {'kB':>5}  with   without  analyst")
    good = True
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for name, (made, control, (right, said)) in zip(
            names, pool.map(measure, names), strict=True
        ):
            if "failed" in made:
                print(f"{name:20} {made['failed']}", flush=True)
                continue
            numbers = [made[k] for k in ("ready_seconds", "visible_seconds", "alert_seconds")]
            shown = " ".join(f"{'-' if n is None else n:>6}" for n in numbers)
            without = "-" if control is None else "holds" if control.get("ok") else "fails"
            good &= made["ok"] and without != "holds"
            print(
                f"{name:20} {shown} {made['recording_bytes'] // 1024:5}  "
                f"{'holds' if made['ok'] else 'FAILS':6} {without:8} "
                f"{'right' if right else 'WRONG'}: {said}",
                flush=True,
            )
            for line in failed_checks(made):
                print(f"{'':20} not seen: {line}", flush=True)
            if control is not None and "failed" in control:
                print(f"{'':20} without the fault: {control['failed']}", flush=True)
                good = False
    print(f"recordings: {out}")
    return 0 if good else 4


if __name__ == "__main__":
    sys.exit(main())
