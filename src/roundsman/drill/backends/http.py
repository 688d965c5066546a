"""Health checks over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import httpx


def answers(url: str, text: str = "") -> Callable[[], bool]:
    """A check that `url` answers 200 (with `text` in its body)."""

    def ready() -> bool:
        try:
            found = httpx.get(url, timeout=1.0, trust_env=False)
        except httpx.HTTPError:
            return False
        return found.status_code == 200 and text in found.text

    return ready
