"""A small system in numbers: who calls whom, what each does by itself, and what follows for the callers.

Rates go down the calls, durations and failures come up; everything else is drawn as it is told. Nothing
here knows what the investigator looks for.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.invented.styles import Style, plain
from benchmarks.rca.cases import iso, write_json, write_lines

Floats = NDArray[np.float64]
#: caller -> callees with calls a request, callees behind callers
CALLS: dict[str, dict[str, float]] = {
    "edge": {"left": 1.0, "right": 0.6},
    "left": {"db": 1.5, "cache": 3.0},
    "right": {},
    "worker": {},
    "batch": {},
}
SPAN = 70 * 60.0
_ORDER = ("edge", "left", "right", "worker", "batch", "db", "cache")
_OWN = {
    "edge": 0.010,
    "left": 0.025,
    "right": 0.040,
    "worker": 0.08,
    "batch": 0.05,
    "db": 0.006,
    "cache": 0.001,
}


@dataclass
class World:
    """What happens. `onset` is when the story's fault begins; arrays have one value a sample."""

    rng: np.random.Generator
    style: Style
    start: float
    rate: Floats = field(init=False)
    times: Floats = field(init=False)
    onset: float = field(init=False)
    own: dict[str, Floats] = field(default_factory=dict)
    fails: dict[str, Floats] = field(default_factory=dict)
    more: dict[str, Floats] = field(default_factory=dict)
    retries: dict[str, Floats] = field(default_factory=dict)
    extra: list[tuple[str, str, Floats]] = field(default_factory=list)
    lines: list[tuple[float, str, str, str]] = field(default_factory=list)
    deploys: list[dict[str, Any]] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)
    flags: list[dict[str, Any]] = field(default_factory=list)
    cpu: dict[str, Floats] = field(default_factory=dict)
    traced: bool = False
    alert: tuple[str, str, float] | None = None
    said: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.times = self.start + np.arange(0, SPAN, self.style.step)
        self.onset = self.start + float(self.rng.uniform(0.58, 0.72)) * SPAN
        slow = 1 + 0.08 * np.sin(np.arange(self.times.size) / self.times.size * 3)
        self.rate = float(self.rng.uniform(30, 90)) * slow
        for role in _ORDER:
            self.own[role] = np.full(self.times.size, _OWN[role])
            self.fails[role] = np.full(self.times.size, 0.0008)
            self.more[role] = np.ones(self.times.size)
            self.cpu[role] = np.full(self.times.size, 0.25)

    def name(self, role: str) -> str:
        """What a service is called here."""
        return self.style.names[role]

    def shift(self, seconds: float) -> None:
        """Let all of it happen later, so that the onset is at a moment that means something."""
        self.start, self.onset, self.times = (
            self.start + seconds,
            self.onset + seconds,
            self.times + seconds,
        )

    def after(self, delay: float = 0.0, until: float = 1e12, rise: float = 0.0) -> Floats:
        """0 before the onset (and a delay), 1 after it, with a rise of so many seconds between."""
        ramp = (self.times - self.onset - delay) / max(rise, 1e-9)
        return np.where(self.times > self.onset + until, 0.0, np.clip(ramp, 0.0, 1.0))

    def noisy(self, values: Floats, share: float = 0.05) -> Floats:
        """Values with the noise measurements have."""
        return values * np.exp(self.rng.normal(0, share, values.size))

    def say(self, role: str, level: str, text: str, times: Floats | list[float]) -> None:
        """Write a line at each time; `{n}` is another number each time."""
        for at in np.asarray(times):
            line = text.replace("{n}", str(int(self.rng.integers(100, 99999))))
            self.lines.append((float(at), role, level, line))

    def moments(self, rate: float, weight: Floats) -> Floats:
        """Random moments, `rate` a second where the weight is 1."""
        count = self.rng.poisson(np.clip(rate * weight, 0, 50) * self.style.step)
        begin = np.repeat(self.times, count)
        return np.sort(begin + self.rng.uniform(0, self.style.step, begin.size))

    def add(self, role: str, what: str, values: Floats) -> None:
        """Another series of a service."""
        self.extra.append((role, what, values))

    def _flow(self) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, Floats]]:
        rates = {role: np.zeros(self.times.size) for role in _ORDER}
        rates["edge"] = self.rate.copy()
        rates["worker"], rates["batch"] = self.rate * 0.2, np.full(self.times.size, 0.05)
        slow, bad = dict(self.own), dict(self.fails)
        for role in reversed(_ORDER):
            for callee, times in CALLS.get(role, {}).items():
                again = 1 + self.retries.get(role, np.zeros(self.times.size)) * bad[callee]
                slow[role] = slow[role] + slow[callee] * times * again
                bad[role] = 1 - (1 - bad[role]) * (1 - np.clip(bad[callee], 0, 0.98)) ** min(
                    times, 1
                )
        for role in _ORDER:
            rates[role] = rates[role] * self.more[role]
            for callee, times in CALLS.get(role, {}).items():
                again = 1 + self.retries.get(role, np.zeros(self.times.size)) * bad[callee]
                rates[callee] = rates[callee] + rates[role] * times * again
        return rates, slow, bad

    def write(self, folder: Path) -> None:
        """The incident folder."""
        rates, slow, bad = self._flow()
        rows: list[tuple[str, str, Floats]] = []
        for role in _ORDER:
            rows.append((role, "rate", self.noisy(rates[role])))
            rows.append((role, "latency", self.noisy(slow[role], 0.08)))
            rows.append((role, "error", self.rng.poisson(bad[role] * rates[role] * 20) / 20))
            busy = self.cpu[role] * (
                0.5 + 0.5 * rates[role] / max(float(np.median(rates[role])), 1e-9)
            )
            rows.append((role, "cpu", np.clip(self.noisy(busy), 0, 1)))
            rows.append((role, "memory", self.noisy(np.full(self.times.size, 420.0), 0.01)))
        rows += self.extra
        self._metrics(folder, rows)
        self._talk(rates, bad)
        self._logs(folder)
        if self.traced:
            write_lines(folder / "traces.ndjson", self._spans(slow, bad))
        for file, records in (
            ("deploys", self.deploys),
            ("commits", self.commits),
            ("flags", self.flags),
        ):
            if records:
                write_json(
                    folder / f"{file}.json", sorted(records, key=lambda one: str(one["timestamp"]))
                )
        role, text, at = self.alert or (
            "edge",
            "requests of users fail or are slow",
            self.onset + 300,
        )
        write_json(
            folder / "alert.json", {"service": self.name(role), "name": text, "timestamp": iso(at)}
        )

    def _metrics(self, folder: Path, rows: list[tuple[str, str, Floats]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = io.StringIO()
        out = csv.writer(text)
        named = []
        for role, what, values in rows:
            name, factor = self.style.metrics[what]
            named.append((self.name(role), name, values * factor))
        if self.style.long:
            out.writerow(["timestamp", "service", "metric", "value"])
            for who, name, values in named:
                for at, value in zip(self.times, values, strict=True):
                    if np.isfinite(value):
                        out.writerow([iso(float(at)), who, name, f"{value:.6g}"])
            (folder / "metrics.csv").write_text(text.getvalue(), encoding="utf-8")
            return
        (folder / "metrics").mkdir(exist_ok=True)
        for who in sorted({one[0] for one in named}):
            mine = [one for one in named if one[0] == who]
            text = io.StringIO()
            out = csv.writer(text)
            out.writerow(["timestamp", *(name for _, name, _ in mine)])
            for n, at in enumerate(self.times):
                cells = [f"{v[n]:.6g}" if np.isfinite(v[n]) else "" for _, _, v in mine]
                out.writerow([iso(float(at)), *cells])
            (folder / "metrics" / f"{who}.csv").write_text(text.getvalue(), encoding="utf-8")

    def _talk(self, rates: dict[str, Floats], bad: dict[str, Floats]) -> None:
        """What services log by themselves: requests, and failures of those they call."""
        for role in ("edge", "left", "right", "worker"):
            if role == "worker" and "worker" in self.said:
                continue
            self.say(
                role,
                "INFO",
                "handled request {n} in {n} us",
                self.moments(0.15, np.ones(self.times.size)),
            )
        for role, callees in CALLS.items():
            for callee in callees:
                text = (
                    self.said.get(callee)
                    or f"call to {self.name(callee)} failed after {{n}} us, request {{n}}"
                )
                weight = np.clip(bad[callee] - 0.004, 0, 1) * rates[role] / 20
                self.say(role, "ERROR", text, self.moments(1.0, weight))

    def _logs(self, folder: Path) -> None:
        self.lines.sort()
        if not self.style.plain:
            records = [
                {"ts": iso(at), "service": self.name(role), "level": level, "msg": text}
                for at, role, level, text in self.lines
            ]
            write_lines(folder / "logs.ndjson", records)
            return
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        for role in sorted({one[1] for one in self.lines}):
            mine = [
                plain(iso, at, level, text) for at, who, level, text in self.lines if who == role
            ]
            (folder / "logs" / f"{self.name(role)}.log").write_text(
                "\n".join(mine) + "\n", encoding="utf-8"
            )

    def _spans(self, slow: dict[str, Floats], bad: dict[str, Floats]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []

        def span(role: str, at: float, n: int, trace: str, parent: str) -> tuple[float, bool]:
            me = f"{trace}-{len(out)}"
            record: dict[str, Any] = {
                "trace_id": trace,
                "span_id": me,
                "parent_id": parent or None,
                "service": self.name(role),
                "name": f"{role} work",
                "start": iso(at),
            }
            out.append(record)
            failed = bool(self.rng.random() < self.fails[role][n])
            spent = float(self.own[role][n] * np.exp(self.rng.normal(0, 0.15)))
            for callee, times in CALLS.get(role, {}).items():
                if times >= 1 or self.rng.random() < times:
                    took, broke = span(callee, at + spent, n, trace, me)
                    spent, failed = spent + took, failed or broke
            record |= {"duration_ms": round(spent * 1000, 3), "error": failed}
            return spent, failed

        for number in range(240):
            n = int(number / 240 * self.times.size)
            span(
                "edge",
                float(self.times[n] + self.rng.uniform(0, self.style.step)),
                n,
                f"t{number:04}",
                "",
            )
        return out
