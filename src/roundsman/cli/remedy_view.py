"""Remedies as whoever is on call reads them: what will happen, on what, and how it is undone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WIDE = 12


def proposal_lines(found: Mapping[str, Any], options: Sequence[str] = ()) -> Iterator[str]:
    """What `remedy propose` found; `options` as it was given them, for the command that is to follow."""
    from roundsman.report import clean

    run_id = found["run_id"]
    if found["because"]:
        yield clean(found["because"], 1000)
        return
    cause = found["cause"]
    yield f"{clean(cause['change'] or cause['statement'], 500)} (confidence {cause['confidence']})"
    if cause["confidence"] == "low":
        yield f"the confidence is low: look at what else it may be first, roundsman runs show {run_id}"
    fitting = [row for row in found["proposals"] if row["fits"]]
    for row in fitting:
        yield ""
        yield f"{row['remedy']}: {clean(row['about'], 300)}"
        yield from _call_lines(row)
        if found["verify"]["why_not"]:
            yield _row("start it", "not yet, see below")
        else:
            command = ["roundsman", "remedy", "apply", run_id, row["remedy"], *options]
            yield _row("start it", clean(shlex.join(command), 10_000))
    yield ""
    if not fitting:
        yield "no remedy fits; nothing is proposed"
        if not found["remedies"] and cause["service"]:
            yield from _how_to_declare(clean(str(cause["service"]), 100))
    else:
        yield from _verify_lines(found["verify"])
    left = [row for row in found["proposals"] if not row["fits"]]
    if left:
        yield "does not fit:"
    for row in left:
        yield f"  {row['remedy']}: {clean(row['why_not'], 500)}"


def _how_to_declare(service: str) -> Iterator[str]:
    yield f"declare how {service} is changed in a file, and give it as --remedies FILE:"
    yield "  version: 1"
    yield "  services:"
    yield f"    {service}: {{settings: PATH, restart: [COMMAND, ARGUMENT]}}"


def _call_lines(row: Mapping[str, Any]) -> Iterator[str]:
    from roundsman.guard.prints import canonical
    from roundsman.report import clean

    for number, line in enumerate(row["dry_run"]):
        yield _row("would do" if number == 0 else "", clean(line, 2000))
    yield _row("touches", f"{clean(row['resource'], 200)} ({row['effect']})")
    yield _row("if no help", clean(row["undo"], 300))
    yield _row("undo by hand", clean(row["undo_by_hand"], 1000))
    if row["afterwards"]:
        yield _row("afterwards", clean(row["afterwards"], 500))
    call = f"{row['call']['tool']}({clean(canonical(row['call']['args']), 100_000)})"
    yield _row("exact call", call)
    yield _row("digest", row["digest"])


def _verify_lines(verify: Mapping[str, Any]) -> Iterator[str]:
    from roundsman.report import clean

    now = {(one["service"], one["metric"]): one for one in verify["now"]}
    yield "it has helped when"
    for one in verify["metrics"]:
        before = "no samples" if one["before"] is None else f"{one['before']:.4g}"
        seen = now.get((one["service"], one["metric"]))
        value = "" if seen is None or seen["value"] is None else f", now {seen['value']:.4g}"
        name = clean(f"{one['service']} {one['metric']}", 200)
        yield f"  {name} is {one['back']} (before {before}, broken {one['broken']:.4g}{value})"
    yield (
        f"  for {verify['looks']} looks in a row, every {verify['every_s']:g} s, from "
        f"{verify['settle_s']:g} s after it on, within {verify['within_s']:g} s; else it is rolled back"
    )
    if verify["why_not"]:
        yield f"it cannot be begun: {clean(verify['why_not'], 500)}"


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """How a remedy's run stands."""
    from roundsman.cli.asking import lines_of
    from roundsman.report import clean

    run_id = report["run_id"]
    yield f"{report['outcome'].upper()}: {clean(report['because'], 2000)}"
    yield _row("remedy", f"{report['remedy']} for run {report['of']}, as run {run_id}")
    for number, line in enumerate(report["dry_run"]):
        yield _row(_did(report) if number == 0 else "", clean(line, 2000))
    yield _row("touches", clean(report["resource"], 200))
    if report["outcome"] in ("waiting", "unknown"):
        yield _row("helped when", clean(report["verify"], 1000))
        yield _row("if no help", clean(report["undo"], 300))
        yield _row("digest", report["digest"])
    for row in report["asked"]:
        if "answer" not in row:
            if report["outcome"] != "waiting":  # its run is over, nobody is asked any more
                continue
            yield from lines_of(row)
            yield f"  then: roundsman resume {run_id}"
        else:
            said = row["answer"]
            yield _row(said["decision"], f"by {clean(said['by'], 100)} at {said['at']}")
    yield from _step_lines(report["steps"])
    goes_on = report["status"] in ("interrupted", "running") or report.get("broken_off")
    if goes_on:
        yield _row("go on", f"roundsman resume {run_id}")
    if report["outcome"] == "unknown" and report["status"] == "stopped":
        yield _row("if it was", f"to undo it: {clean(report['undo_by_hand'], 1000)}")
    half = (report["steps"]["apply"] or {}).get("status") == "error"
    if report["outcome"] == "applied, not verified" and not half:
        yield from _unverified_lines(report)
    elif report["by_hand"]:
        yield _row("or by hand" if goes_on else "by hand now", clean(report["by_hand"], 1000))
    if report["outcome"] == "done":
        yield _row("to undo it", clean(report["undo_by_hand"], 1000))
        if report["afterwards"]:
            yield _row("afterwards", clean(report["afterwards"], 500))


def _unverified_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """It stands, and nobody knows whether it helped: looking comes first, undoing it may be wrong."""
    from roundsman.report import clean

    yield _row("look first", f"at {clean(report['verify'], 1000)}")
    yield from _metric_lines(report["last_look"], "last look")
    yield _row("to undo it", f"(if that did not help) {clean(report['by_hand'], 1000)}")


def _step_lines(steps: Mapping[str, Any]) -> Iterator[str]:
    """What was done, and the last look at what broke."""
    from roundsman.report import clean

    for name in ("apply", "undo"):
        step = steps[name] or {}
        if step.get("did"):
            yield _row("applied" if name == "apply" else "undone", clean(step["did"], 1000))
        elif step.get("error"):
            same = name == "undo" and step["error"] == (steps["apply"] or {}).get("error")
            yield _row(f"{name} failed", "in the same way" if same else clean(step["error"], 1000))
        elif step.get("settled"):
            yield _row("applied" if name == "apply" else "undone", _settled(step))
        if name == "apply" and (verify := steps["verify"]) is not None:
            yield from _look_lines(verify)


def _look_lines(verify: Mapping[str, Any]) -> Iterator[str]:
    last = (verify.get("looks") or [{}])[-1].get("metrics", ())
    yield from _metric_lines(last, f"after {verify.get('seconds', 0):.0f} s")


def _metric_lines(rows: Sequence[Mapping[str, Any]], lead: str) -> Iterator[str]:
    from roundsman.report import clean

    for number, one in enumerate(rows):
        value = "no new sample" if one["value"] is None else f"{one['value']:g}"
        said = "back" if one["back"] else "NOT BACK"
        name = clean(f"{one['service']} {one['metric']}", 200)
        yield _row(lead if number == 0 else "", f"{name} {value}: {said} (limit {one['limit']:g})")


def _settled(step: Mapping[str, Any]) -> str:
    from roundsman.report import clean

    said = str(step["settled"]).replace("_", "-")
    by, at = clean(step["settled_by"], 100), step["settled_at"]
    if by.endswith(".verify"):
        by = "the remedy's own look at the world"
    return f"cut off, nothing was told of it; settled as {said} by {by} at {at}"


def _did(report: Mapping[str, Any]) -> str:
    applied = report["steps"]["apply"] is not None
    return "the call" if applied else "would do"


def _row(name: str, text: str) -> str:
    return f"  {name.ljust(_WIDE)} {text}"
