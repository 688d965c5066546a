"""Kinds of values a policy holds: limits above zero, counts, money, durations, names."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema

from roundsman.policy.units import DURATION_HELP, DURATION_PATTERN, parse_duration


def _seconds(value: Any, info: ValidationInfo) -> Any:
    """Text is parsed anywhere; a bare number is seconds in code and an error in a file."""
    if isinstance(value, str):
        return parse_duration(value)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"accepted: {DURATION_HELP}")
    if (info.context or {}).get("file"):
        return parse_duration(str(value))
    seconds = round(float(value), 9)
    if seconds <= 0:
        raise ValueError(f"accepted: {DURATION_HELP}")
    return seconds


Limit = Annotated[int, Field(gt=0, le=10**15, strict=True)]
Count = Annotated[int, Field(ge=0, le=10**15, strict=True)]
"""A limit where zero has a meaning: none at all."""
Money = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
"""US dollars; zero lets only models run that cost nothing."""
Points = Annotated[float, Field(gt=0, le=10**6, strict=True, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
Seconds = Annotated[
    float,
    BeforeValidator(_seconds),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["2m", "1h30m"]}),
]
Text = Annotated[str, Field(min_length=1, strict=True)]


class Part(BaseModel):
    """A section of a policy: it cannot be changed and takes no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
