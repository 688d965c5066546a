"""A source that holds nothing: what a source of one kind has in place of the others."""

from __future__ import annotations

from collections.abc import Iterator

from roundsman.sources.protocols import Change, Command, LogLine, Series, Span, Unseen, Window


class BaseSource:
    """Satisfies Source with nothing in it; a source overrides what it holds."""

    def __init__(self, kinds: list[str]) -> None:
        self.kinds = kinds
        self.unseen: list[Unseen] = []

    def series(self, window: Window, service: str = "", metric: str = "") -> list[Series]:
        """None."""
        return []

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """None."""
        return iter(())

    def spans(self, window: Window) -> list[Span]:
        """None."""
        return []

    def calls(self) -> set[tuple[str, str]]:
        """None."""
        return set()

    def changes(self, window: Window) -> list[Change]:
        """None."""
        return []

    def services(self) -> list[str]:
        """None known."""
        return []

    def extent(self) -> Window | None:
        """Not known."""
        return None

    def extents(self) -> dict[str, Window]:
        """Not known."""
        return {}

    def note(self, unseen: Unseen) -> None:
        """Remember that something was not looked at (once)."""
        if unseen not in self.unseen:
            self.unseen.append(unseen)

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """None."""
        return None
