"""What a run is doing right now, on standard error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from roundsman.report.text import clean, plural, show_number


class Progress:
    """One live line on a terminal; elsewhere a plain line for each round, question and note.

    `limits` may hold `max_rounds` and `tokens` (None or missing: no limit). No method raises: a closed
    pipe must not end a run. `clock` gives seconds.
    """

    def __init__(
        self,
        console: Console,
        limits: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._limits: Mapping[str, Any] = limits or {}
        self._clock = clock
        self._began = clock()
        self._round = ""
        self._asking = ""
        self._usage = ""
        self._printed_usage = ""
        self._live: Live | None = None
        self._closed = False
        self._spinner = Spinner("dots")
        if console.is_terminal and not console.is_dumb_terminal:
            with _quietly():
                live = Live(
                    console=console,
                    get_renderable=self._renderable,
                    refresh_per_second=8,
                    transient=True,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                live.start()
                self._live = live

    def round_started(self, n: int, max_rounds: int | None = None) -> None:
        """Round `n` begins, of at most `max_rounds` (None: as in the limits, or no limit)."""
        most = self._limits.get("max_rounds") if max_rounds is None else max_rounds
        self._round = f"round {show_number(n)}" + (f"/{show_number(most)}" if most else "")
        self._asking = ""
        spent = ""
        if self._usage and self._usage != self._printed_usage:
            spent, self._printed_usage = f" (so far {self._usage})", self._usage
        self._plain(self._round + spent)

    def asking(self, text: str) -> None:
        """A model or tool is being asked something."""
        self._asking = clean(text, 200)
        self._plain(f"  {self._asking}")

    def usage(
        self, tokens: int, max_tokens: int | None = None, actions: int = 0, steps: int = 0
    ) -> None:
        """What the run has spent so far, in total."""
        most = self._limits.get("tokens") if max_tokens is None else max_tokens
        of = f"/{show_number(most)}" if most else ""
        self._usage = " · ".join(
            (f"{show_number(tokens)}{of} tokens", plural(actions, "action"), plural(steps, "step"))
        )

    def note(self, text: str) -> None:
        """Something to keep on the screen, for example what a guard did."""
        if self._live is None:
            self._plain(f"  ! {clean(text)}")
        else:
            with _quietly():
                line = Text(self._fit(f"! {clean(text)}"))
                self._console.print(line, highlight=False, markup=False)

    def close(self) -> None:
        """Take the live line away or print the last figures; more calls do nothing."""
        if self._closed:
            return
        if self._live is not None:
            with _quietly():
                self._live.stop()
        elif self._usage:
            self._plain(f"spent {self._usage} in {self._seconds()} s")
        self._closed = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _seconds(self) -> int:
        return int(self._clock() - self._began)

    def _renderable(self) -> Spinner:
        # Long questions are cut, the figures stay: they are what tells a slow run from a stuck one.
        tail = " · ".join(filter(None, (self._usage, f"{self._seconds()} s")))
        lead = self._round or "starting"
        room = self._console.width - len(lead) - len(tail) - 10
        middle = self._asking if len(self._asking) <= room else self._asking[: max(0, room)] + "…"
        shown = " · ".join(filter(None, (lead, middle if room > 8 else "", tail)))
        self._spinner.update(text=Text(self._fit(shown), no_wrap=True, overflow="ellipsis"))
        return self._spinner

    def _plain(self, text: str) -> None:
        if self._live is None and not self._closed:
            with _quietly():
                line = Text(self._fit(text))
                self._console.print(line, soft_wrap=True, highlight=False, markup=False)

    def _fit(self, text: str) -> str:
        try:
            text.encode(self._console.encoding or "utf-8")
        except (UnicodeError, LookupError):
            return text.replace("·", "-").encode("ascii", "replace").decode("ascii")
        return text


def _quietly() -> contextlib.suppress:
    """A terminal that went away (closed file, broken pipe) is no reason to stop a run."""
    return contextlib.suppress(OSError, ValueError, RuntimeError)
