"""What a person sees of a run: the terminal, Markdown, one HTML file, JSON, and live progress.

Every renderer takes the plain dict of `report.json`. Missing, null or misshapen keys are left out
rather than raised: a report is guaranteed at every stop, and a stop can come at any moment.
Names are loaded on first use, so importing this room loads neither rich nor jinja2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundsman.report.console import PipedConsole
    from roundsman.report.html import to_html
    from roundsman.report.markdown import to_markdown
    from roundsman.report.progress import Progress
    from roundsman.report.terminal import to_terminal
    from roundsman.report.text import clean
    from roundsman.report.write import to_json, write_all

_HOME = {
    "PipedConsole": "console",
    "Progress": "progress",
    "clean": "text",
    "to_html": "html",
    "to_json": "write",
    "to_markdown": "markdown",
    "to_terminal": "terminal",
    "write_all": "write",
}

__all__ = [
    "PipedConsole",
    "Progress",
    "clean",
    "to_html",
    "to_json",
    "to_markdown",
    "to_terminal",
    "write_all",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"roundsman.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'roundsman.report' has no attribute {name!r}")
