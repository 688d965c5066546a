"""A refusal is named by what refused: nothing was clamped where a value is none of those allowed."""

from __future__ import annotations

from typing import Any

import pytest

from roundsman.guard import Account, Kind, Placed, apply, decide
from roundsman.guard.events import ActionBegins, Ruled, StepBegins
from roundsman.guard.rules.arguments import Bound, Clamp
from roundsman.guard.rules.spans import Span, SpanLimit

RULES = (
    Placed(Clamp({"dig": {"depth": Bound(1, 60), "region": Bound(allowed=("eu",))}})),
    Placed(SpanLimit({"read": (Span("start", "end", 3600.0),)})),
)


@pytest.mark.parametrize(
    ("tool", "args", "rule"),
    [
        ("dig", {"depth": "deep", "region": "eu"}, "clamp"),
        ("dig", {"depth": -1, "region": "mars"}, "clamp"),
        ("dig", {"region": "mars"}, "allowed"),
        ("dig", {"region": None, "depth": 5}, "allowed"),
        ("dig", {"Depth": 5}, "arguments"),
        ("dig", {"hours": 9, "region": "mars"}, "arguments"),
        ("dig", {"at": "{}"}, "arguments"),
        ("read", {"start": "now-1h", "end": "now", "hours": 9}, "arguments"),
        ("read", {"start": "yesterday", "end": "now"}, "clamp"),
    ],
)
def test_a_refusal_is_named_by_what_refused(tool: str, args: dict[str, Any], rule: str) -> None:
    unknown = tuple(args.keys() & {"hours"})
    action = ActionBegins(
        tool=tool, args=args, unknown=unknown, declared={"at": {"type": "object"}}
    )
    verdict = decide(RULES, Account(), action).verdict
    assert (verdict.kind, verdict.rule) == (Kind.REFUSE, rule), verdict.reason


def test_to_be_refused_under_another_name_of_one_rule_is_the_same_refusal() -> None:
    account = Account()
    for rule in ("clamp", "allowed", "arguments"):
        account = apply(account, StepBegins(id=rule, agent="a"))
        ruled = Ruled(verdict="refuse", rule=rule, layer="tool", subject="look", agent="a")
        account = apply(account, ruled)
    (mine,) = account.stuck.talking.values()
    assert [dict(o.points)["refused"] for o in mine.past] == [0.5, 1.0, 1.0]
