"""The report on a terminal: the verdict is the first screen, everything else is below it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from roundsman.report.evidence import Evidence
from roundsman.report.view import View, build

_PLAIN = str.maketrans(
    {"…": "...", "·": "-", "→": "->", "×": "x", "–": "-", "“": '"', "”": '"', "’": "'", "─": "-"}
)
_QUERY_LIMIT = 600
"""Characters of a query shown on a terminal, so that three of them leave the verdict in sight."""


def to_terminal(report: Mapping[str, Any], console: Console) -> None:
    """Print the report; fits any width from 40 columns.

    Nothing but the console's own styles is sent as control characters, and none at all when
    NO_COLOR is set or the console is no terminal. Queries are not broken at the edge (the terminal
    wraps them), so that they can be copied whole.
    """
    _Page(console, build(report)).print()


def _short(text: str, limit: int) -> str:
    """Cut for the first screen; the whole text is further down or in the files."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


class _Page:
    def __init__(self, console: Console, view: View) -> None:
        self.console = console
        self.view = view
        self.width = max(40, min(console.width, 100))
        self.styled = console.is_terminal and not console.no_color and not os.getenv("NO_COLOR")

    def print(self) -> None:
        self._verdict()
        self._below()

    def _verdict(self) -> None:
        view = self.view
        color = "bold green" if view.found else "bold yellow"
        self._flow("CAUSE  " if view.found else "", view.headline, color, label_style=color)
        sure = f" (confidence {view.confidence})" if view.confidence else ""
        self._flow("Since  ", view.since + sure if view.since else sure.strip(" ()"))
        self._flow(f"{view.affected_label}  ", _short(view.affected, 150))
        self._flow("Caution  ", _short(view.caution, 300), color)
        self._flow("Because  ", _short(view.because, 300))
        if view.top:
            self._line()
            self._flow("", "Evidence", "bold")
            for one in view.top:
                self._evidence(one)
        if view.next_action:
            self._line()
            self._flow("Next  ", view.next_action, "bold")
        if view.runbook:
            self._flow("Runbook  ", view.runbook)

    def _evidence(self, one: Evidence) -> None:
        self._flow(f"  {one.id}  ", _short(one.statement, 120))
        if not one.query:
            return
        query = one.query
        # An end cut off leaves a quote open, and another alphabet's quotes must not become ours:
        # what cannot stand here whole is fetched by name.
        if len(query) > _QUERY_LIMIT or self._fit(query) != query:
            if not self.view.run_id:
                return
            words = ["roundsman", "runs", "show", self.view.run_id, "--evidence", one.id]
            query = shlex.join(words)
        for line in query.split("\n"):
            self._line("    ", line, "cyan", whole=True)

    def _below(self) -> None:
        view = self.view
        self._line()
        self._line("", "─" * min(self.width, 40), "dim")
        self._flow("How  ", view.mechanism)
        self._flow("Cost  ", view.cost)
        self._flow("Stopped  ", view.stop)
        self._list("Guard", view.guard)
        self._list("Not seen", view.unseen)
        self._list(
            "Findings",
            (
                ("" if one.grounded else "NOT GROUNDED: ")
                + ("ruled out: " if one.ruled_out else "")
                + f"{one.statement} [{', '.join(one.evidence) or 'no evidence cited'}]"
                for one in view.findings
            ),
        )
        self._list(
            "Alternatives",
            (what + (f" (why not: {why})" if why else "") for what, why in view.alternatives),
        )
        self._list(
            f"Timeline ({view.day}, UTC)" if view.day else "Timeline",
            (
                f"{one.at or '(no time)'}  {one.kind}  "
                + (f"{one.service}: " if one.service else "")
                + _short(one.what, 120)
                for one in view.timeline
            ),
        )
        self._line()
        about = (("run", view.run_id), ("model", view.model), ("policy", view.policy))
        self._flow("", " · ".join(f"{name} {text}" for name, text in about if text), "dim")

    def _list(self, title: str, items: Iterable[str], most: int = 20) -> None:
        lines = list(items)
        if not lines:
            return
        self._line()
        self._flow("", title, "bold")
        for item in lines[:most]:
            self._flow("  - ", item)
        if len(lines) > most:
            self._flow("  ", f"and {len(lines) - most} more: see report.md or --json", "dim")

    def _flow(self, label: str, text: str, style: str = "", *, label_style: str = "bold") -> None:
        """Wrapped text behind a label; the lines after the first are indented by two more."""
        if not text:
            return
        label, text = self._fit(label), self._fit(text)
        indent = min(len(label), 6) if label.startswith(" ") else 2 if label else 0
        whole = Text(label + text)
        # Wrapped at the narrower width, then the first line takes no indent.
        lines = whole.wrap(self.console, self.width - indent)
        for number, line in enumerate(lines):
            line.rstrip()
            shown = Text(" " * indent) + line if number else line
            if self.styled:
                shown.stylize(style, len(label) if not number else 0)
                if not number:
                    shown.stylize(label_style, 0, len(label.rstrip()))
            self._out(shown)

    def _line(
        self, lead: str = "", text: str = "", style: str = "", *, whole: bool = False
    ) -> None:
        self._out(Text(lead + self._fit(text), style if self.styled else ""), whole=whole)

    def _out(self, text: Text, *, whole: bool = False) -> None:
        self.console.print(text, soft_wrap=whole, highlight=False, markup=False, emoji=False)

    def _fit(self, text: str) -> str:
        """Only what the output's encoding can carry: a report must not die of an arrow."""
        encoding = self.console.encoding or "utf-8"
        try:
            text.encode(encoding)
        except (UnicodeError, LookupError):
            return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")
        return text
