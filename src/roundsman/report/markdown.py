"""The report as Markdown, for a ticket or a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roundsman.report.view import View, build

_SPECIAL = re.compile(r"([\\`*\[\]<>|~&#$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z]))")
_LIST_MARK = re.compile(r"^(\d+(?=[.)])|(?=[-+=]))")
_TICKS = re.compile(r"`+")


def to_markdown(report: Mapping[str, Any]) -> str:
    """The whole report; text from telemetry is escaped, so it cannot form markup of its own."""
    return "\n".join(_lines(build(report))).rstrip() + "\n"


def escape(text: str) -> str:
    """Text that renders as itself."""
    return _LIST_MARK.sub(r"\1\\", _SPECIAL.sub(_mask, text))


def _mask(hit: re.Match[str]) -> str:
    # Chats that know no backslash escapes must not see a tag either.
    return "&lt;" if hit[0] == "<" else "\\" + hit[0]


def code(text: str, indent: str = "") -> Iterator[str]:
    """A fenced block whose fence is longer than any run of backticks inside."""
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    for line in (f"{fence}text", *text.split("\n"), fence):
        yield f"{indent}{line}".rstrip()


def _lines(view: View) -> Iterator[str]:
    yield f"# {escape(view.headline)}"
    yield ""
    if view.question:
        yield f"> {escape(view.question)}"
        yield ""
    facts = (
        ("Since", view.since),
        (view.affected_label, view.affected),
        ("Caution", view.caution),
        ("Because", view.because),
        ("How", view.mechanism),
        ("In full", view.story),
        ("Confidence", view.confidence),
        ("Next safe action", view.next_action),
        ("Runbook", view.runbook),
    )
    for label, text in facts:
        if text:
            yield f"- **{label}:** {escape(text)}"
    yield from _section("Evidence", _numbered(view))
    yield ""
    yield f"**Cost:** {view.cost}  "
    yield f"**Stopped:** {escape(view.stop)}"
    yield from _section("What the guard did", _bullets(view.guard))
    yield from _section("Not seen", _bullets(view.unseen))
    yield from _section("Findings", _findings(view))
    yield from _section(
        "Alternatives",
        _bullets(what + (f" (why not: {why})" if why else "") for what, why in view.alternatives),
    )
    yield from _section(
        f"Timeline ({view.day}, UTC)" if view.day else "Timeline",
        _bullets(
            f"{one.at or '(no time)'} {one.kind} "
            + (f"{one.service}: " if one.service else "")
            + one.what
            for one in view.timeline
        ),
    )
    yield from _section("All evidence", _everything(view))
    yield from _section(
        "About this run",
        _bullets(
            f"{label}: {text}"
            for label, text in (
                ("Run", view.run_id),
                ("Model", view.model),
                ("Policy", view.policy),
                ("Time", view.times),
            )
            if text
        ),
    )


def _section(title: str, body: Iterable[str]) -> Iterator[str]:
    lines = list(body)
    if lines:
        yield from ("", f"## {title}", "", *lines)


def _bullets(items: Iterable[str]) -> Iterator[str]:
    return (f"- {escape(item)}" for item in items)


def _numbered(view: View) -> Iterator[str]:
    for number, one in enumerate(view.top, 1):
        yield f"{number}. **{escape(one.id)}** {escape(one.statement)}"
        if one.query:
            yield ""
            yield from code(one.query, "   ")


def _findings(view: View) -> Iterator[str]:
    for one in view.findings:
        mark = "" if one.grounded else "**not grounded:** "
        mark += "ruled out: " if one.ruled_out else ""
        cites = ", ".join(one.evidence) or "no evidence cited"
        where = f"; round {one.round}" if one.round else ""
        yield f"- {mark}{escape(one.statement)} ({escape(cites + where)})"


def _everything(view: View) -> Iterator[str]:
    for one in view.evidence:
        yield f"- **{escape(one.id)}** {escape(' '.join(filter(None, (one.tool, one.status))))}"
        for text in filter(None, (one.query, one.excerpt)):
            yield ""
            yield from code(text, "  ")
        yield ""
