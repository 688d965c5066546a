"""Judging and counting: events in, verdicts out. Pure and synchronous: no framework, no I/O."""

from __future__ import annotations

from roundsman.guard.account import Account
from roundsman.guard.decide import Judgement, Placed, Rule, decide
from roundsman.guard.fold import apply
from roundsman.guard.rules import FRAMEWORK_TOOLS, rules_for
from roundsman.guard.verdicts import ALLOW, Kind, Verdict

__all__ = [
    "ALLOW",
    "FRAMEWORK_TOOLS",
    "Account",
    "Judgement",
    "Kind",
    "Placed",
    "Rule",
    "Verdict",
    "apply",
    "decide",
    "rules_for",
]
