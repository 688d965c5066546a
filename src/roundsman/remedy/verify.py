"""Did it help? The metrics that broke are looked at until they are back, or time is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from roundsman.errors import SourceError
from roundsman.remedy.config import Verifying
from roundsman.remedy.finding import Broken
from roundsman.remedy.telemetry import Look, Reads, limit, look

Tell = Callable[[str], None]
_KEPT = 40


@dataclass
class Verifier:
    """Watches `broken` by `reads`. `tell` is told of every look, for progress; `seen` are the rows of the
    last one, for a watch that is broken off."""

    broken: Sequence[Broken]
    reads: Reads
    verifying: Verifying
    tell: Tell = lambda text: None
    seen: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What will be watched, in words."""
        what = ", ".join(f"{one.service} {one.metric} ({limit(one).text})" for one in self.broken)
        how = self.verifying
        return f"{what}: {how.looks} looks in a row, every {how.every:g} s, within {how.within:g} s"

    async def watch(self, since: float | None) -> dict[str, Any]:
        """Look until every metric is back for so many looks in a row, or time is up.

        Args:
            since: when it was applied (epoch seconds); None: now.

        Returns:
            `back`, the last `looks` as rows, how long it took, and why it is not back.
        """
        begun, newest = time.time(), dict[int, float]()
        after = (begun if since is None else since) + self.verifying.settle
        in_a_row, rows, said = 0, list[dict[str, Any]](), ""
        while True:
            looked = await asyncio.to_thread(self._all, after)
            now = time.time()
            if isinstance(looked, str):
                in_a_row, said = 0, looked
                self.tell(f"{now - begun:.0f} s: {looked}")
            else:
                self.seen = [_row(one) for one in looked]
                rows = [*rows, {"at": now, "metrics": self.seen}][-_KEPT:]
                said = "; ".join(one.text for one in looked)
                if self._newer(looked, newest):
                    in_a_row = in_a_row + 1 if all(one.back for one in looked) else 0
                self.tell(f"{now - begun:.0f} s: {self._short(looked, in_a_row)}")
            told = {"looks": rows, "seconds": round(now - begun, 1), "last": said}
            if in_a_row >= self.verifying.looks:
                return {"status": "ok", "back": True, **told}
            if now - begun + self.verifying.every > self.verifying.within:
                why = f"not back for {self.verifying.looks} looks in a row within "
                why += f"{self.verifying.within:g} s"
                return {"status": "ok", "back": False, "why": why, **told}
            await asyncio.sleep(self.verifying.every)

    async def glance(self) -> list[dict[str, Any]]:
        """One look at each, to be told and not to be judged by."""
        looked = await asyncio.to_thread(self._all, time.time() - max(60.0, self.verifying.every))
        return [] if isinstance(looked, str) else [_row(one) for one in looked]

    def _short(self, looked: Sequence[Look], in_a_row: int) -> str:
        """One line of progress: what is not back yet, else how often it was."""
        if all(one.value is None for one in looked):
            return "no new sample yet"
        if left := [one for one in looked if not one.back]:
            more = f", and {len(left) - 1} more" if len(left) > 1 else ""
            return left[0].text + more
        return f"back, {in_a_row} of {self.verifying.looks} looks: {looked[0].text}"

    def _all(self, after: float) -> list[Look] | str:
        now = time.time()
        try:
            return [look(self.reads, one, after, now) for one in self.broken]
        except SourceError as error:
            return f"cannot be read: {error}"
        except Exception as error:  # what was applied must not stay so because nobody can look
            return f"cannot be read: {type(error).__name__}: {error}"[:500]

    def _newer(self, looked: Sequence[Look], newest: dict[int, float]) -> bool:
        """Whether there is something new to look at: the same sample twice is one look."""
        fresh = [
            n for n, one in enumerate(looked) if one.value is not None and one.at > newest.get(n, 0)
        ]
        newest.update({n: looked[n].at for n in fresh})
        return len(fresh) == len(looked)


def _row(one: Look) -> dict[str, Any]:
    level = limit(one.broken)
    return {
        "service": one.broken.service,
        "metric": one.broken.metric,
        "value": None if one.value is None else float(f"{one.value:.4g}"),
        "back": one.back,
        "limit": float(f"{level.value:.4g}"),
    }
