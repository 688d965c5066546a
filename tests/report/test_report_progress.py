from __future__ import annotations

import io

from rich.console import Console

from roundsman.report import Progress


def test_plain_lines_when_not_a_terminal() -> None:
    out = io.StringIO()
    ticks = iter([0.0, 12.5])
    progress = Progress(
        Console(file=out, width=60), {"max_rounds": 6, "tokens": 30_000}, clock=lambda: next(ticks)
    )
    progress.round_started(1)
    progress.asking("query_logs \x1b[31morders\x1b[0m")
    progress.usage(1500, None, 1, 1)
    progress.round_started(2, 6)
    progress.note("restart_pod refused")
    progress.usage(4500, 30_000, 3, 2)
    progress.close()
    progress.close()
    assert out.getvalue().splitlines() == [
        "round 1/6",
        "  query_logs orders",
        "round 2/6 (so far 1,500/30,000 tokens · 1 action · 1 step)",
        "  ! restart_pod refused",
        "spent 4,500/30,000 tokens · 3 actions · 2 steps in 12 s",
    ]


def test_live_line_on_a_terminal_is_taken_away() -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=True, _environ={"TERM": "xterm"})
    with Progress(console, None) as progress:
        progress.round_started(1, 6)
        progress.asking("x" * 300)
        progress.usage(1500, 30_000, 1, 1)
        progress.note("kept [bold]as is[/bold]")
    shown = out.getvalue()
    assert "kept [bold]as is[/bold]" in shown
    assert shown.rstrip().endswith("\x1b[2K") or "\x1b[?25h" in shown


def test_a_terminal_that_goes_away_does_not_stop_the_run() -> None:
    out = io.StringIO()
    progress = Progress(Console(file=out, width=60), {})
    out.close()
    progress.round_started(1, None)
    progress.note("x")
    progress.close()


def test_an_ascii_terminal_gets_ascii() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    progress = Progress(Console(file=out, width=60), None)
    progress.usage(1, None, 1, 1)
    progress.close()
    out.flush()
    assert raw.getvalue().startswith(b"spent 1 tokens - 1 action - 1 step in")
