"""One drill from beginning to end: up, a baseline, the fault, an outage, a recording, its check."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from roundsman.drill.backends.prometheus import ask
from roundsman.drill.decoys import DECOYS
from roundsman.drill.drill import Drill, Recording, as_rows
from roundsman.drill.lab import Lab
from roundsman.drill.record import claimed, record, size
from roundsman.drill.releases import Release
from roundsman.drill.rules import FOR_SECONDS, trouble
from roundsman.errors import DrillFailed, UsageError
from roundsman.sources.times import iso

#: decoys are deployed within so many seconds before the fault, the last one this long before it
_NEAR, _LAST = 20.0, 4.0
_SCHEMA = 1
_TOO_BUSY = (
    "an alert began before the fault was made: this machine is too busy for a drill; try again, or "
    "fewer at once"
)
#: rates look back ten seconds: before that a recording would show them rise from nothing
_WARM_UP = 10.0


def run_drill(
    drill: Drill,
    out: Path,
    *,
    baseline: float = 40.0,
    outage: float = 60.0,
    decoys: int = 0,
    heal: bool = False,
    force: bool = False,
    say: Callable[[str], None] = lambda text: None,
    hold: Callable[[Lab], None] | None = None,
) -> dict[str, Any]:
    """Run a drill and record it: `out/incident` to investigate, `out/truth.json` beside it.

    Returns what was measured, as `out/drill.json` holds it; `ok` says whether the drill's own check
    found its mechanism in the data. `force` records over an older recording, `hold` is called at the
    end while everything is still up.
    Raises MissingDependency, DrillFailed, or UsageError when this machine cannot run the drill.
    """
    reason = drill.why_not()
    if reason:
        raise UsageError(f"drill {drill.name}: {reason}")
    with claimed(out, force):
        return _recorded(drill, out, baseline, outage, decoys, heal, say, hold)


def _recorded(
    drill: Drill,
    out: Path,
    baseline: float,
    outage: float,
    decoys: int,
    heal: bool,
    say: Callable[[str], None],
    hold: Callable[[Lab], None] | None,
) -> dict[str, Any]:
    with drill.lab(baseline, say) as lab:
        lab.wait(_WARM_UP)
        begun = time.time()
        say(f"baseline of {baseline:.0f} s")
        _baseline(lab, baseline, decoys)
        if lab.alertmanager.firing() is not None:
            raise DrillFailed(_TOO_BUSY)
        at = time.time()
        if drill.fault:
            at = drill.inject(lab) or at
        else:
            drill.instead(lab)
        measured = _outage(lab, at, outage)
        if (measured["alert_seconds"] or FOR_SECONDS) < FOR_SECONDS:  # it was pending before
            raise DrillFailed(_TOO_BUSY)
        end = time.time()
        say("recording")
        record(lab, out / "incident", begun, end)
        stores = {
            name: sum(int(r["value"][1]) for r in ask(url, "query", query='count({service!=""})'))
            for name, url in (("prometheus", lab.prometheus.url), ("victoria", lab.victoria.url))
        }
        healed = _heal(drill, lab) if heal else None
        ready_after = lab.ready_after
        if hold is not None:
            hold(lab)
    truth = _truth(drill, at, lab.releases.done)
    (out / "truth.json").write_text(json.dumps(truth, indent=2) + "\n")
    checks = drill.check(Recording(out / "incident", drill.names, at))
    result = {
        "schema_version": _SCHEMA,
        "finished": True,
        "drill": drill.name,
        "fault": drill.fault,
        "ok": all(one.ok for one in checks),
        "checks": as_rows(checks),
        "ready_seconds": round(ready_after, 1),
        **measured,
        "healed_seconds": healed,
        "recording_bytes": size(out / "incident"),
        "series": stores,
        "incident": str(out / "incident"),
        "truth": str(out / "truth.json"),
    }
    (out / "drill.json").write_text(json.dumps(result, indent=2) + "\n")
    return result


def _baseline(lab: Lab, seconds: float, decoys: int) -> None:
    near = min(_NEAR, seconds / 2)
    lab.wait(seconds - near if decoys else seconds)
    for number in range(decoys):
        begun = time.monotonic()
        DECOYS[number % len(DECOYS)](lab, number)
        lab.wait((near - _LAST) / decoys - (time.monotonic() - begun))
    if decoys:
        lab.wait(_LAST)


def _outage(lab: Lab, at: float, seconds: float) -> dict[str, Any]:
    """Let it run so long after the fault; when it became visible, and when somebody was called."""
    query = trouble(lab.names)
    seen: dict[str, float] = {}
    next_look = 0.0

    def look() -> bool:
        nonlocal next_look
        if time.monotonic() < next_look:
            return False
        next_look = time.monotonic() + 0.5
        with contextlib.suppress(DrillFailed):  # a machine that is too busy to answer in time
            if "visible" not in seen and lab.prometheus.value(query) is not None:
                seen["visible"] = time.time() - at
                lab.say(f"visible in Prometheus {seen['visible']:.1f} s after the fault")
        if "alert" not in seen and (alert := lab.alertmanager.firing()) is not None:
            seen["alert"] = alert["at"] - at
            lab.say(f"alert received {seen['alert']:.1f} s after the fault")
        return False

    lab.wait(at + seconds - time.time(), look)
    return {
        "visible_seconds": round(seen["visible"], 1) if "visible" in seen else None,
        "alert_seconds": round(seen["alert"], 1) if "alert" in seen else None,
    }


def _heal(drill: Drill, lab: Lab) -> float | None:
    """Remove the fault; seconds until customers feel nothing any more, None if they still do."""
    begun = time.time()
    lab.say("removing the fault")
    drill.remove(lab)
    query = trouble(lab.names)
    good = lab.wait(60.0, lambda: lab.prometheus.value(query) is None)
    return round(time.time() - begun, 1) if good else None


def _truth(drill: Drill, at: float, releases: Sequence[Release]) -> dict[str, Any]:
    said = asdict(drill.truth())
    guilty = (r for r in releases if (r.service, r.version) == (said["service"], said["change"]))
    said["commit"] = next((release.commit.sha for release in guilty), None)
    if not drill.fault:
        said = {
            "service": None,
            "change": None,
            "commit": None,
            "kind": "none",
            "because": "the fault was left out",
        }
    harmless = drill.harmless or not drill.fault
    return {
        "drill": drill.name,
        "harmless": harmless,
        "fault_at": iso(at),
        **said,
        "names": asdict(drill.names),
    }
