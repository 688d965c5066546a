"""What a drill is: a fault in real processes, its removal, and a check that it shows in the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roundsman.drill.lab import Lab
from roundsman.drill.names import Names
from roundsman.drill.rules import SLOW
from roundsman.sources import IncidentFolder, LogLine, Window
from roundsman.sources.protocols import Floats


@dataclass(frozen=True)
class Truth:
    """What an investigation should find.

    service: where the cause lies, None when nothing is to be blamed. change: the version that brought
    it, None when no change did. kind: of the catalogue's own words. because: one sentence.
    """

    service: str | None
    change: str | None
    kind: str
    because: str


@dataclass(frozen=True)
class Check:
    """One thing that must be seen in the recording."""

    what: str
    ok: bool
    seen: str


class Recording:
    """The recorded folder, split at the moment the fault was made (epoch seconds)."""

    def __init__(self, folder: Path, names: Names, at: float) -> None:
        self.names, self.at = names, at
        self.source = IncidentFolder(folder)
        self.whole = self.source.extent() or Window(at, at)
        self.alerted = (folder / "alert.json").exists()

    def _values(self, service: str, metric: str, window: Window) -> Floats:
        found = [
            one.values
            for one in self.source.series(window, service, metric)
            if one.service == service and one.metric.startswith(metric)
        ]
        return np.concatenate(found) if found else np.empty(0)

    def before(self, service: str, metric: str) -> Floats:
        """Samples before the fault, of all series whose name begins with `metric`."""
        return self._values(service, metric, Window(self.whole.start, self.at))

    def after(self, service: str, metric: str, skip: float = 8.0) -> Floats:
        """Samples from `skip` seconds after the fault on."""
        return self._values(service, metric, Window(self.at + skip, self.whole.end))

    def lines(self, service: str, text: str) -> tuple[list[LogLine], list[LogLine]]:
        """A service's log lines that contain a text, before and after the fault."""
        found = [
            line
            for line in self.source.lines(Window(0.0, self.whole.end + 60), service, text)
            if line.service == service
        ]
        return (
            [line for line in found if line.at < self.at],
            [line for line in found if line.at >= self.at],
        )

    # --- checks used by several drills -------------------------------------------------------

    def appears(self, service: str, text: str, least: int = 3) -> Check:
        """Lines with a text came after the fault and never before."""
        before, after = self.lines(service, text)
        ok = not before and len(after) >= least
        return Check(f"{service} logs {text!r}", ok, f"{len(before)} before, {len(after)} after")

    def rises(self, service: str, metric: str, to: float, factor: float = 2.0) -> Check:
        """The highest sample after the fault is at least `to` and `factor` times that before."""
        low, high = top(self.before(service, metric)), top(self.after(service, metric, 0.0))
        ok = high >= to and high >= factor * low
        return Check(f"{service} {metric} rises to {to:g} or more", ok, f"{low:.4g} to {high:.4g}")

    def errors(self, share: float = 0.1) -> Check:
        """At least this share of the gateway's answers after the fault are 5xx, hardly any before."""
        gateway = self.names.gateway
        shares = []
        for side in (self.before, self.after):
            every = float(side(gateway, "http_requests_rate{").sum())
            bad = float(side(gateway, 'http_requests_rate{code="5').sum())
            shares.append(bad / max(every, 1e-9))
        ok = shares[0] < 0.02 and shares[1] >= share
        seen = f"{shares[0]:.1%} before, {shares[1]:.1%} after"
        return Check(f"{gateway} fails {share:.0%} of its requests or more", ok, seen)

    def quiet(self) -> Check:
        """No lasting trouble: the last fifth has next to no errors, and nobody was called."""
        gateway = self.names.gateway
        late = Window(self.whole.end - (self.whole.end - self.at) / 5, self.whole.end)
        bad = float(self._values(gateway, 'http_requests_rate{code="5', late).sum())
        every = float(self._values(gateway, "http_requests_rate{", late).sum())
        share = bad / max(every, 1e-9)
        slow = top(self._values(gateway, "http_request_duration_p90", late))
        ok = every > 0 and share < 0.02 and slow < SLOW and not self.alerted
        seen = f"{share:.1%} errors and p90 {slow:.2f} s at the end, alert: {self.alerted}"
        return Check("no lasting trouble, no alert", ok, seen)

    def alert(self) -> Check:
        """Somebody was called."""
        return Check("the alert reached the webhook", self.alerted, str(self.alerted).lower())


def top(values: Floats) -> float:
    """The largest sample; 0 when there is none."""
    return float(values.max()) if values.size else 0.0


class Drill(ABC):
    """One entry of the catalogue.

    With `fault=False` the same steps run with the fault left out; `check` must then fail.
    """

    name: str
    about: str
    harmless = False

    def __init__(self, names: Names, *, fault: bool = True) -> None:
        self.names, self.fault = names, fault

    def why_not(self) -> str:
        """Why this drill cannot run on this machine; empty when it can."""
        return ""

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        """The system the drill needs."""
        del baseline
        return Lab(self.names, say=say)

    @abstractmethod
    def inject(self, lab: Lab) -> float | None:
        """Make the fault; its moment (epoch seconds) when that is not the beginning of the call."""

    def instead(self, lab: Lab) -> None:
        """What happens in its place when the fault is left out: by default an innocent release."""
        lab.deploy(lab.checkout, "v1.5.0", "log fewer orders", {"LOG_EVERY": 12})

    def remove(self, lab: Lab) -> None:
        """Take the fault away again: by default roll the last release of the checkout back."""
        lab.roll_back(lab.checkout)

    @abstractmethod
    def truth(self) -> Truth:
        """What an investigation should find when the fault was made."""

    @abstractmethod
    def check(self, recording: Recording) -> list[Check]:
        """Whether the mechanism shows in the data."""


def as_rows(checks: list[Check]) -> list[dict[str, Any]]:
    """Checks as a report carries them."""
    return [{"what": one.what, "ok": one.ok, "seen": one.seen} for one in checks]
