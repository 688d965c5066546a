"""What a reply says it used, part by part; over a stream the last word on each part counts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as reported; None where a reply says nothing.

    `prompt` holds `cached`; `output` and `thoughts` are apart, and so are the results of tools the
    provider itself ran (`tools`). `total` is the provider's own sum.
    """

    prompt: int | None = None
    cached: int | None = None
    output: int | None = None
    thoughts: int | None = None
    tools: int | None = None
    total: int | None = None

    @classmethod
    def of(cls, response: Any) -> Usage:
        """The usage of one response or chunk."""
        said = getattr(response, "usage_metadata", None)
        if said is None:
            return NOTHING
        return cls(
            _count(said.prompt_token_count),
            _count(said.cached_content_token_count),
            _count(said.candidates_token_count),
            _count(said.thoughts_token_count),
            _count(said.tool_use_prompt_token_count),
            _count(said.total_token_count),
        )

    def most(self, other: Usage) -> Usage:
        """Part by part the larger: running totals, repeated in every chunk, are not added."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Usage(*(_larger(getattr(self, n), getattr(other, n)) for n in _PARTS))

    def or_else(self, other: Usage) -> Usage:
        """This usage, and `other` for the parts it does not report."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        mine = (getattr(self, n) for n in _PARTS)
        theirs = (getattr(other, n) for n in _PARTS)
        return Usage(*(b if a is None else a for a, b in zip(mine, theirs, strict=True)))

    @property
    def tokens(self) -> int | None:
        """Tokens of the whole call, None when nothing is reported. Where a provider's sum is less
        than its parts, the parts count."""
        parts = [p for p in (self.prompt, self.output, self.thoughts, self.tools) if p is not None]
        if self.total is None and not parts:
            return None
        return max(self.total or 0, sum(parts))

    @property
    def produced(self) -> int | None:
        """Output tokens, thoughts among them; None when not reported. A sum and a prompt say it
        too."""
        if self.output is not None or self.thoughts is not None:
            return (self.output or 0) + (self.thoughts or 0)
        if self.total is None or self.prompt is None:
            return None
        return max(0, self.total - self.prompt - (self.tools or 0))

    def cost(self, tokens: int, prices: tuple[float, ...] | None) -> float:
        """Dollars of a call of `tokens`, at dollars a million (input, output, cached input).

        What is not reported as input is taken for output, which is never the cheaper. 0 when the
        prices are unknown.
        """
        if prices is None:
            return 0.0
        price_in, price_out, *rest = prices
        read = min(tokens, (self.prompt or 0) + (self.tools or 0))
        cached = min(self.cached or 0, read)
        price_cached = rest[0] if rest else price_in
        fresh = (read - cached) * price_in
        return (fresh + cached * price_cached + (tokens - read) * price_out) / 1e6


NOTHING = Usage()
"""A reply that reports nothing, as most chunks of a stream."""
_PARTS = tuple(f.name for f in fields(Usage))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _larger(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)
