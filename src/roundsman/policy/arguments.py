"""What a policy says of one argument of a tool."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_serializer,
    model_validator,
)

from roundsman.policy.units import DURATION_HELP, DURATION_PATTERN, check_number, parse_duration

UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
"""Seconds of each unit an argument can be declared in."""


def _edge(value: Any) -> Any:
    if not isinstance(value, str):
        return check_number(value)
    try:
        parse_duration(value)
    except ValueError:
        raise ValueError("accepted: a number, or a duration such as '90s', '2m', '1h'") from None
    return value


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError("accepted: a string, a number, true, false or null")


Edge = Annotated[
    Any,
    BeforeValidator(lambda v: _edge(v)),
    WithJsonSchema({"type": ["number", "string"]}),
]
"""End of an argument's range: a number, or for an argument that is a duration a text such as 1h."""
Scalar = Annotated[
    Any,
    AfterValidator(lambda v: _scalar(v)),
    WithJsonSchema({"type": ["string", "number", "boolean", "null"]}),
]


def _duration(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"accepted: {DURATION_HELP}")
    parse_duration(value)
    return value


class SpanRule(BaseModel):
    """Two arguments (or paths to one place) that are the start and the end of a stretch of time, and
    how long that may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    args: tuple[Annotated[str, Field(min_length=1)], Annotated[str, Field(min_length=1)]]
    max: Annotated[
        str,
        BeforeValidator(_duration),
        WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["1h"]}),
    ]
    on_excess: Literal["clamp", "refuse"] | None = None

    @field_serializer("args")
    def _as_list(self, args: tuple[str, str]) -> list[str]:
        return list(args)

    @model_validator(mode="after")
    def _one_place(self) -> SpanRule:
        start, end = (name.rpartition(".") for name in self.args)
        if start[0] != end[0] or start[2] == end[2] or not (start[2] and end[2]):
            raise ValueError(
                f"has args {list(self.args)}; name the start and the end beside it, [start, end]"
            )
        return self

    @property
    def seconds(self) -> float:
        """The longest stretch of time, in seconds."""
        return parse_duration(self.max)


class ArgRule(BaseModel):
    """Bounds of one argument of a tool: a range, or the values allowed.

    `on_excess` of None is `clamp` for tools that read and `refuse` for those that write.
    `unit` says what a plain number of a duration counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max: Edge | None = None
    min: Edge | None = None
    on_excess: Literal["clamp", "refuse", "ask"] | None = None
    allowed: list[Scalar] | None = None
    type: Literal["number", "integer", "duration"] | None = None
    unit: Literal["seconds", "minutes", "hours", "days"] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> ArgRule:
        edges = [e for e in (self.min, self.max) if e is not None]
        texts = [e for e in edges if isinstance(e, str)]
        if texts and self.type not in (None, "duration"):
            raise ValueError(f"has type {self.type} and the bound {texts[0]!r}; write a number")
        if self.type == "duration" and self.unit is None and len(texts) < len(edges):
            raise ValueError("has a bound without a unit; write it as '1h', or set unit: minutes")
        if self.type is None and self.unit is None and 0 < len(texts) < len(edges):
            raise ValueError("has one bound with a unit and one without; write both alike")
        if self.type == "integer" and any(e != int(e) for e in edges):
            raise ValueError("has type integer and a bound that is not whole; round it")
        if self.max is not None and self.min is not None:
            low, high = self.seconds(self.min), self.seconds(self.max)
            if low > high:
                raise ValueError(f"has min {self.min} above max {self.max}; swap them")
        if self.allowed is not None and (self.max is not None or self.min is not None):
            raise ValueError("has both allowed and a range; keep one of them")
        if self.allowed == []:
            raise ValueError("has an empty allowed; name a value, or refuse the tool")
        return self

    def seconds(self, edge: float | str) -> float:
        """A bound of this argument as a number that can be compared: a duration in seconds."""
        if isinstance(edge, str):
            return parse_duration(edge)
        return edge * UNITS[self.unit] if self.unit else edge
