"""What a policy says of agents that call agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from roundsman.policy.fields import Count, Limit, Money, Part, Text


def _recursion(value: Any) -> Any:
    if value in ("refuse", "allow") or (type(value) is int and 0 <= value <= 1000):
        return value
    raise ValueError("accepted: 'refuse', 'allow', or how often (0 is 'refuse')")


class Share(Part):
    """What one agent may use of the run's budget."""

    tokens: Limit | None = None
    usd: Money | None = None
    steps: Limit | None = None
    actions: Count | None = None


class Agents(Part):
    """Agents that call agents, and what each may use."""

    max_depth: Limit | None = None
    max_calls: Count | None = None
    recursion: Annotated[
        Literal["refuse", "allow"] | int,
        BeforeValidator(_recursion),
        WithJsonSchema(
            {"anyOf": [{"enum": ["refuse", "allow"]}, {"type": "integer", "minimum": 0}]}
        ),
    ] = "allow"
    shares: dict[Text, Share] = {}
