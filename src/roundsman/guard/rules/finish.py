"""Model layer: an agent with a finish line has to say where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event, StepBegins
from roundsman.guard.verdicts import Kind, Verdict

REPORT_PARTIAL = "report_partial"


@dataclass(frozen=True, slots=True)
class ReportDue:
    """After so many steps of its own an agent with a finish line must report partial: in the step
    that follows no other tool runs, and after that step the guard reports in its place. Once it
    has reported nothing more of it runs. Agents without a finish line are not concerned.

    `limit` is the policy's, None for none; an agent's own limit can only be tighter.
    """

    limit: int | None = None
    name: ClassVar[str] = "finish"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({StepBegins.kind, ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, (StepBegins, ActionBegins))
        line = account.work.line(event.agent, event.within)
        if line is None:
            return None
        step = isinstance(event, StepBegins)
        if line.report is not None:
            kind, why = (Kind.CUT, line.report.line()) if step else (Kind.REFUSE, "it has reported")
            return Verdict(kind, self.name, self.layer, why, line.report.reason if step else "")
        limits = [limit for limit in (line.most, self.limit) if limit is not None]
        if not limits or line.steps <= min(limits):
            return None
        limit = min(limits)
        if step:
            why = f"did not report within {limit} steps"
            return Verdict(
                Kind.CUT, self.name, self.layer, why, "partial", numbers={"limit": limit}
            )
        if isinstance(event, ActionBegins) and event.tool == REPORT_PARTIAL:
            return None
        why = (
            f"{limit} steps are used; call {REPORT_PARTIAL} now and name what is not done; no other "
            "tool runs"
        )
        return Verdict(Kind.REFUSE, self.name, "tool", why, numbers={"limit": limit})
