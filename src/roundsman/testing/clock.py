"""A clock that moves when told."""

from __future__ import annotations


class FakeClock:
    """Seconds since the epoch, as `time.time` gives them, standing still between `advance`s."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> float:
        """Move on by `seconds` (not back: ValueError); returns the new time."""
        if seconds < 0:
            raise ValueError(f"a clock does not go back ({seconds} s)")
        self.now += seconds
        return self.now
