"""Who answers there. Figures are a model's only when a model made them.

A server can claim any name. What a script does not do by accident: count the tokens of prompts of
growing length, keep to a short `max_tokens`, and write different texts to different questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from benchmarks.real_model.proxy import Proxy

_WORDS = ("river", "window", "seven", "garden", "metal", "morning", "paper", "orange", "letter")
_LENGTHS = (12, 48, 160)


@dataclass(frozen=True, slots=True)
class Identity:
    """`name` as results give it; `why` what speaks against a model, empty when nothing does;
    `told` what the server says of itself."""

    name: str
    why: str
    told: dict[str, Any]

    @property
    def real(self) -> bool:
        """Whether its figures may be called a model's."""
        return not self.why


def identify(proxy: Proxy, model: str, known: str = "") -> Identity:
    """Ask the server; `known` is the digest of weights that we loaded ourselves."""
    told: dict[str, Any] = {"weights_sha256": known} if known else {}
    with httpx.Client(base_url=proxy.url, timeout=1800.0, trust_env=False) as client:
        told |= _told(client, model)
        why = "" if known else _against(client, proxy, model)
    # a name is the server's claim, unless the weights are ours
    claimed = model if known else f"{model} (as its server calls it)"
    return Identity(claimed if not why else f"NO MODEL: {model}", why, told)


def _told(client: httpx.Client, model: str) -> dict[str, Any]:
    listed = client.get("/models")
    rows = listed.json().get("data") if listed.status_code == 200 else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and model in (row.get("id"), *(row.get("aliases") or [])):
            meta = row.get("meta") if isinstance(row.get("meta"), dict) else {}
            keys = ("n_params", "n_ctx", "n_vocab", "ftype")
            return {"owned_by": row.get("owned_by"), **{k: meta[k] for k in keys if k in meta}}
    return {}


def _against(client: httpx.Client, proxy: Proxy, model: str) -> str:
    proxy.restart(9)
    texts: list[str] = []
    counts: list[int] = []
    for length in _LENGTHS:
        words = " ".join(_WORDS[i * 7 % len(_WORDS)] for i in range(length))
        asked = {
            "model": model,
            "messages": [{"role": "user", "content": f"Go on for long: {words}"}],
            "max_tokens": 12,
        }
        said = client.post("/chat/completions", json=asked)
        if said.status_code != 200:
            return f"it answers with HTTP {said.status_code}"
        used = said.json().get("usage") or {}
        counts.append(used.get("prompt_tokens") or 0)
        texts.append(proxy.exchanges[-1].text)
        if (used.get("completion_tokens") or 99) > 16:
            return "it takes no heed of max_tokens"
    if not counts[0] < counts[1] < counts[2] or counts[2] - counts[0] < _LENGTHS[2] // 2:
        return f"it counts {counts} tokens for prompts of {list(_LENGTHS)} words"
    if len(set(texts)) < len(texts):
        return "it writes the same to different questions"
    return ""
