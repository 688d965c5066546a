"""What a policy holds. A limit of None is no limit; durations are seconds, money is US dollars."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    model_validator,
)

from roundsman.policy.agents import Agents
from roundsman.policy.arguments import ArgRule, SpanRule
from roundsman.policy.conversation import Conversation
from roundsman.policy.fields import Count, Limit, Money, Part, Points, Rate, Seconds, Text
from roundsman.policy.resources import pieces

PRESETS = ("baseline", "default", "strict")
"""The presets that come with the package."""

RULE_NAMES = (
    "accept_done",
    "readable_answer",
    "round_timeout",
    "idle_rounds",
    "max_rounds",
    "wall_clock",
    "round_steps",
    "steps",
    "tokens",
    "usd",
    "allowlist",
    "max_calls",
    "clamp",
    "approval",
    "actions",
    "repetition",
    "agents",
    "agent_calls",
    "shares",
    "plan",
    "finish",
)
"""Names under `rules:`. The guard's rules carry these names; a test holds both lists together."""

RuleMode = Literal["off", "shadow", "enforce"]
Effect = Literal["read", "poll", "write", "destructive"]


def _not_bool(value: Any) -> Any:
    # true == 1 in Python, and a literal is compared by equality
    if isinstance(value, bool | float):
        raise ValueError("accepted: 1")
    return value


def _signal_name(name: str) -> str:
    if name not in SIGNALS:
        raise ValueError(f"accepted: {', '.join(SIGNALS)}")
    return name


def _rule_name(name: str) -> str:
    if name not in RULE_NAMES:
        raise ValueError(f"accepted: {', '.join(RULE_NAMES)}")
    return name


def _template(text: str) -> str:
    pieces(text)
    return text


class Loop(Part):
    """The outer loop: how many rounds, and when they end."""

    max_rounds: Limit | None = None
    stop_after_idle_rounds: Limit | None = None
    accept_done: Literal["with_findings", "always"] = "with_findings"
    progress: Literal["reference", "grounded"] = "reference"


class Run(Part):
    """Limits of one run and everything below it."""

    tokens: Limit | None = None
    usd: Money | None = None
    wall_clock: Seconds | None = None
    steps: Limit | None = None
    actions: Count | None = None
    on_limit: Literal["finish", "ask"] = "finish"
    accounting: Literal["reserve", "settle"] = "reserve"
    cached_tokens: Literal["count", "free"] = "count"


class Round(Part):
    """Limits of one round."""

    steps: Limit | None = None
    timeout: Seconds | None = None


class ToolRule(Part):
    """What one tool may do. `resource` names what it touches (`cluster`, `{service}`): accesses to
    one resource take turns. Without it a tool touches everything. `approve: always` runs a call only
    when a person has approved exactly that call; `idempotency` names the parameter that takes a key
    by which the tool knows a call it has carried out already."""

    effect: Effect = "write"
    approve: Literal["never", "always"] = "never"
    idempotency: Text | None = None
    args: dict[Text, ArgRule] = {}
    spans: list[SpanRule] = []
    max_calls: Count | None = None
    resource: Annotated[Text, AfterValidator(_template)] | None = None


class Tools(Part):
    """Which tools may run. `default` decides on those that `allow` does not name. An approval, and the
    question for it, expire after `approval_expires`."""

    default: Literal["refuse", "allow"] = "allow"
    approval_expires: Seconds | None = 86400.0
    allow: dict[Text, ToolRule] = {}


SIGNALS = (
    "repeat", "near", "error", "failing", "cycle", "clock", "rewrite", "refused", "poll",
    "narration", "blank",
)  # fmt: skip
"""Names under `repetition.signals`; a test holds them and the guard's together."""


class Repetition(Part):
    """The same again: `simple` looks at calls alone (`window`, `limit`), `results` at what they
    gave: evidence of each signal adds up to points, and these meet three levels. `another_round`: which
    loops go on after a round that was ended for it."""

    mode: Literal["off", "simple", "results"] = "off"
    window: Annotated[int, Field(gt=0, le=50, strict=True)] = 5
    limit: Limit = 3
    warn: Points = 1.0
    withhold: Points = 2.0
    stop: Points = 3.0
    poll: Seconds | None = 300.0
    another_round: Literal["with_findings", "always"] = "with_findings"
    signals: list[Annotated[str, AfterValidator(_signal_name)]] = list(SIGNALS)

    @model_validator(mode="after")
    def _rising(self) -> Repetition:
        if not self.warn <= self.withhold <= self.stop:
            raise ValueError(
                f"has levels warn {self.warn:g}, withhold {self.withhold:g}, stop {self.stop:g}; "
                "each must be at least the one before it"
            )
        return self


class Plan(Part):
    """How often a plan may be revised."""

    max_replans: Count | None = None


class Finish(Part):
    """Steps after which an agent with a finish line has to report."""

    report_after_steps: Limit | None = None


class Schedule(Part):
    """Calls of one model reply: whether writes take turns, and threads for declared sync tools (0:
    none, they run one after another on the event loop)."""

    writes: Literal["ordered", "free"] = "free"
    threads: Annotated[int, Field(ge=0, le=64, strict=True)] = 0


class Price(Part):
    """US dollars for a million tokens."""

    input_per_million: Rate
    output_per_million: Rate
    cached_input_per_million: Rate | None = None
    """Input that was read from the provider's cache; None: it costs as any other."""


class AuditException(Part):
    """A path the audit would refuse, accepted by a person who says why."""

    path: Text
    why: Text


class Sections(Part):
    """Everything a policy file can say about limits."""

    loop: Loop = Loop()
    run: Run = Run()
    round: Round = Round()
    tools: Tools = Tools()
    repetition: Repetition = Repetition()
    agents: Agents = Agents()
    plan: Plan = Plan()
    finish: Finish = Finish()
    schedule: Schedule = Schedule()
    conversation: Conversation = Conversation()
    prices: dict[Text, Price] = {}
    rules: dict[Annotated[str, AfterValidator(_rule_name)], RuleMode] = {}
    exceptions: list[AuditException] = []


class PolicyFile(Sections):
    """A policy file as written: what it leaves out comes from what it extends."""

    version: Annotated[Literal[1], BeforeValidator(_not_bool)] = 1
    name: Text = "custom"
    extends: Annotated[Text, Field(description="a preset or a file beside this one")] = "default"


class Policy(Sections):
    """What one run may do. Made by `load_policy`; every limit of None is no limit."""

    name: str = "custom"
    usd_from_preset: bool = False
    """The dollar ceiling was not set by the user: it is off for a model of unknown price."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of what the policy says; its name does not count."""
        content = self.model_dump(mode="json", exclude={"name"})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def with_tools(self, declared: Mapping[str, Any]) -> Policy:
        """This policy over an app's declaration of its tools.

        `declared` is a `tools` section (`{"default": "refuse", "allow": {...}}`) or just its
        `allow` part, which then implies `default: refuse`. What this policy's own file says about
        a tool wins, key by key. Raises PolicyError for a declaration that is not valid.
        """
        from roundsman.policy.merge import over_declaration

        return over_declaration(self, declared)
