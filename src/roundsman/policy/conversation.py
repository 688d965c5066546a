"""What a policy says about the texts of a conversation."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from roundsman.policy.fields import Limit, Part, Seconds, Text
from roundsman.policy.patterns import fault

Place = Literal["input", "reply", "call", "result"]
Action = Literal["block", "redact", "mark", "withhold"]
BUILT_IN = ("injection", "secrets", "personal", "instructions")
"""Checks that need no list: their name says what they look for."""
_KINDS = ("phrases", "patterns", "only", "max_chars", "alphabets", "languages", "python")
"""What a check can look for; a built-in one brings it along."""
SAFE_REPLY = "I cannot help with that."
BUDGET, HEAVY_BUDGET = 2.0, 10.0
"""Seconds one look of a check may take: in line, and beside the stream. The built-in checks need less
than one for a megabyte."""
_PLACES: dict[str, tuple[list[Place], Action]] = {
    "injection": (["input", "result"], "mark"),
    "secrets": (["reply", "call", "result"], "redact"),
    "personal": (["reply", "result"], "redact"),
    "instructions": (["reply", "call"], "block"),
}
"""Where the built-in checks run, and what they do, unless the policy says otherwise."""


def _pattern(pattern: str) -> str:
    if why := fault(pattern):
        raise ValueError(why)
    return pattern


def _named(name: str) -> str:
    module, colon, function = name.partition(":")
    if not colon or not all(p.isidentifier() for p in [*module.split("."), function]):
        raise ValueError("expected package.module:name of a check")
    return name


class TextCheck(Part):
    """One check: what it looks for (a built-in name needs no more), where, and what then happens.

    `phrases` and `patterns` are what must not be said, `only` the topics of which one must come up.
    `reply` takes the place of a blocked text; `tools` limits it to some tools' calls and results.
    `heavy`: it runs beside the stream, on the whole turn as far as it came. A look that takes longer
    than `budget` is recorded, and then `on_timeout` says whether the text is blocked or passes.
    """

    mode: Literal["off", "shadow", "enforce"] = "enforce"
    on: list[Place] = []
    action: Action | None = None
    reply: Text = SAFE_REPLY
    tools: list[Text] = []
    phrases: list[Text] = []
    patterns: list[Annotated[Text, AfterValidator(_pattern)]] = []
    only: list[Text] = []
    max_chars: Limit | None = None
    alphabets: list[Text] = []
    languages: list[Text] = []
    python: Annotated[Text, AfterValidator(_named)] | None = None
    heavy: bool = False
    budget: Seconds | None = None
    on_timeout: Literal["block", "pass"] = "block"


class TaintRule(Part):
    """Whether writes need a person once text from outside is in the context. `trusted_tools` give
    results nobody else can write to; `constants` are harmless values: {tool: {argument: [values]}}.
    `said_in`: where the user must have said all values of a call together."""

    mode: Literal["off", "shadow", "enforce"] = "off"
    on_untrusted: Literal["ask", "refuse"] = "ask"
    said_in: Literal["conversation", "message", "sentence"] = "message"
    trusted_tools: list[Text] = []
    constants: dict[Text, dict[Text, list[Any]]] = {}


class Conversation(Part):
    """Checks of what people say, models answer and tools give back. `blind`: whether a live session
    may run without the transcripts that the checks look at. `safety_settings`: whether every agent
    must bring some of its platform's: in a live session they cannot be changed later."""

    checks: dict[Text, TextCheck] = {}
    taint: TaintRule = TaintRule()
    record_text: bool = False
    blind: Literal["refuse", "allow"] = "refuse"
    safety_settings: Literal["optional", "required"] = "optional"
    look_back: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 256

    @model_validator(mode="after")
    def _complete(self) -> Conversation:
        for name, check in self.checks.items():
            kinds = [k for k in _KINDS if getattr(check, k)]
            if check.heavy and places_of(name, check)[1] == "redact":
                raise ValueError(
                    f"checks.{name} is heavy: it sees a text when pieces of it have left, and can take "
                    "nothing out any more; give action: block"
                )
            if check.heavy and "call" in places_of(name, check)[0]:
                raise ValueError(
                    f"checks.{name} is heavy: calls keep the model's order and wait for none; "
                    "leave call out of on"
                )
            if name in BUILT_IN:
                if kinds:
                    raise ValueError(f"checks.{name} is built in and takes no {kinds[0]}")
                continue
            if not kinds:
                near = get_close_matches(name.lower(), BUILT_IN, n=1)
                hint = f"; did you mean {near[0]!r}? Otherwise" if near else ":"
                raise ValueError(
                    f"checks.{name} looks for nothing{hint} give {', '.join(_KINDS[:-1])} or "
                    f"{_KINDS[-1]}, or a built-in name: {', '.join(BUILT_IN)}"
                )
            if len(kinds) > 1 and set(kinds) != {"phrases", "patterns"}:
                raise ValueError(f"checks.{name} has {' and '.join(kinds)}; make two checks of it")
            if not check.on:
                raise ValueError(
                    f"checks.{name} runs nowhere: give on: [input, reply, call, result]"
                )
        return self


def budget_of(check: TextCheck) -> float:
    """Seconds one look may take."""
    return check.budget or (HEAVY_BUDGET if check.heavy else BUDGET)


def places_of(name: str, check: TextCheck) -> tuple[list[Place], Action]:
    """Where a check runs, and what it does."""
    places, action = _PLACES.get(name, ([], "block"))
    return check.on or places, check.action or action
