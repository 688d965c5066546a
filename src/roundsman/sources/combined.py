"""Several sources as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from roundsman.errors import SourceError
from roundsman.sources.protocols import (
    Change,
    Command,
    LogLine,
    Series,
    Source,
    Span,
    Unseen,
    Window,
)

T = TypeVar("T")


class CombinedSource:
    """Satisfies Source. A member that fails is one note, as long as another of its kind answers.

    `labels` are what the members are called in notes.
    """

    def __init__(self, members: Sequence[Source], labels: Sequence[str]) -> None:
        self._members = list(zip(members, labels, strict=True))
        self._own: list[Unseen] = []
        self._extent: Window | None = None
        self.kinds = list(dict.fromkeys(kind for member in members for kind in member.kinds))

    @property
    def unseen(self) -> list[Unseen]:
        """What any of them did not look at, without repeats."""
        found = [one for member, _ in self._members for one in member.unseen]
        return list(dict.fromkeys([*self._own, *found]))

    def note(self, unseen: Unseen) -> None:
        """Remember that something was not looked at (once)."""
        if unseen not in self._own:
            self._own.append(unseen)

    def _of(self, kind: str) -> list[tuple[Source, str]]:
        return [(member, label) for member, label in self._members if kind in member.kinds]

    def _ask(self, kind: str, question: Callable[[Source], T]) -> list[T]:
        """The answers of all that hold a kind; the first failure is raised when none answers."""
        answers: list[T] = []
        failed: list[SourceError] = []
        for member, label in self._of(kind):
            try:
                answers.append(question(member))
            except SourceError as error:
                failed.append(error)
                self.note(Unseen(f"{kind} of {label}", str(error)))
        if failed and not answers:
            raise failed[0]
        return answers

    def series(self, window: Window, service: str = "", metric: str = "") -> list[Series]:
        """Series of all of them."""
        asked = self._ask("metrics", lambda one: one.series(window, service, metric))
        return [series for found in asked for series in found]

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Lines of one after the other. One that breaks off is a note, unless nothing was read."""
        failed: list[SourceError] = []
        answered = 0
        for member, label in self._of("logs"):
            try:
                yield from member.lines(window, service, text)
                answered += 1
            except SourceError as error:
                failed.append(error)
                self.note(Unseen(f"logs of {label}", str(error)))
        if failed and not answered:
            raise failed[0]

    def spans(self, window: Window) -> list[Span]:
        """Spans of all of them, oldest first."""
        asked = self._ask("traces", lambda one: one.spans(window))
        return sorted((span for found in asked for span in found), key=lambda span: span.at)

    def calls(self) -> set[tuple[str, str]]:
        """Pairs of all of them."""
        pairs: set[tuple[str, str]] = set()
        for member, _ in self._members:
            pairs |= member.calls()
        return pairs

    def changes(self, window: Window) -> list[Change]:
        """Changes of all of them, oldest first."""
        asked = self._ask("changes", lambda one: one.changes(window))
        return sorted((one for found in asked for one in found), key=lambda change: change.at)

    def services(self) -> list[str]:
        """Names any of them knows; one that does not answer now is a note."""
        names: set[str] = set()
        for member, label in self._members:
            try:
                names.update(member.services())
            except SourceError as error:
                self.note(Unseen(f"names of services of {label}", str(error)))
        return sorted(names)

    def extent(self) -> Window | None:
        """What those cover together that can say; changes alone only when there is nothing else."""
        if self._extent is None:
            telling = {"metrics", "logs", "traces"}
            first = [m.extent() for m, _ in self._members if telling & set(m.kinds)]
            known = [one for one in first if one is not None]
            if not known:
                known = [one for m, _ in self._members if (one := m.extent()) is not None]
            if known:
                self._extent = Window(min(w.start for w in known), max(w.end for w in known))
        return self._extent

    def extents(self) -> dict[str, Window]:
        """Of each kind what its members cover together, where all of them can say."""
        known: dict[str, list[Window]] = {}
        silent: set[str] = set()
        for member, _ in self._members:
            found = member.extents()
            silent |= set(member.kinds) - found.keys()
            for kind, window in found.items():
                known.setdefault(kind, []).append(window)
        return {
            kind: Window(min(w.start for w in some), max(w.end for w in some))
            for kind, some in known.items()
            if kind not in silent
        }

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """That of the first member that has one."""
        asked = (member.command(kind, window, service, text) for member, _ in self._of(kind))
        return next((one for one in asked if one is not None), None)
