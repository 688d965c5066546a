"""Time that passes when a test says so: what hangs has hung for as long as it may, however slow the
machine was until then."""

from __future__ import annotations

import asyncio
from typing import Any

LONG, PATIENCE = 600.0, 1800.0
"""Seconds that something that hangs may take, and after which a test that hangs twice has failed."""


def time_passes(seconds: float = LONG) -> None:
    """From now on the clock of the running event loop says so many seconds more."""
    loop: Any = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds
