"""What a model's tokens cost, without asking the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundsman.policy.model import Policy, Price

if TYPE_CHECKING:
    from genai_prices import types

_FREE = ("analyst", "scripted")
_SAMPLE = 100_000
"""Tokens the price is read at: large enough for exact cents, small enough for the usual tier."""

_PROVIDERS = {"gemini": "google", "vertex_ai": "google", "models": "google", "azure": "azure"}


def price_of(model: str, policy: Policy) -> Price | None:
    """US dollars for a million tokens of `model`, or None when nobody knows.

    First `prices:` of the policy (under the full name, then without its provider), then the
    snapshot that comes with genai-prices. The analyst and scripted models cost nothing. Where a
    price rises with the size of the prompt, it is the one for prompts up to 100,000 tokens.
    """
    bare = model.rsplit("/", 1)[-1]
    for name in (model, bare):
        if name in policy.prices:
            return policy.prices[name]
    if any(model == free or model.startswith((f"{free}-", f"{free}:")) for free in _FREE):
        return Price(input_per_million=0.0, output_per_million=0.0)
    head = model.split("/", 1)[0] if "/" in model else None
    provider = None if head is None else _PROVIDERS.get(head, head)
    if head == "projects":
        # a Vertex resource name: projects/P/locations/L/publishers/PUBLISHER/models/M
        provider = model.split("/publishers/", 1)[-1].split("/", 1)[0]
    return _looked_up(bare if head else model, provider)


def _looked_up(model: str, provider: str | None) -> Price | None:
    from genai_prices import Usage, calc_price

    if not model:
        return None
    try:
        usage = Usage(input_tokens=_SAMPLE, output_tokens=_SAMPLE)
        found: types.PriceCalculation = calc_price(usage, model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    per_million = 1_000_000 / _SAMPLE
    cached = _cached(model, provider)
    return Price(
        input_per_million=round(float(found.input_price) * per_million, 6),
        output_per_million=round(float(found.output_price) * per_million, 6),
        cached_input_per_million=None if cached is None else round(cached * per_million, 6),
    )


def _cached(model: str, provider: str | None) -> float | None:
    """Dollars of the sample when all of its input came from the cache."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=_SAMPLE, output_tokens=_SAMPLE, cache_read_tokens=_SAMPLE)
    try:
        return float(calc_price(usage, model, provider_id=provider).input_price)
    except (LookupError, ValueError):
        return None
