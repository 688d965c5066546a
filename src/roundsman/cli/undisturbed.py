"""What a command that runs agents keeps away from the person who reads its output."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from roundsman.investigate.interruption import INTERRUPTION

_ENGINE = "google_adk"
_SIGNALS = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, the engine's log is off and a request to end works as a Ctrl-C does.

    The engine logs every failure with its trace, hundreds of lines that push the verdict off the
    screen; the report names the failure. ROUNDSMAN_DEBUG shows them. A request to end (docker stop,
    systemd, a closed terminal) gives the partial report that Ctrl-C gives, and is named in it; one
    that was set to be ignored (nohup) stays ignored.
    """
    INTERRUPTION.by(signal.SIGINT)
    logger = logging.getLogger(_ENGINE)
    level = logger.level
    if not os.environ.get("ROUNDSMAN_DEBUG"):
        logger.setLevel(logging.CRITICAL)
    before = {}
    for name in _SIGNALS:
        number = getattr(signal, name)
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _as_ctrl_c)
    try:
        yield
    finally:
        logger.setLevel(level)
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    INTERRUPTION.by(number)
    signal.raise_signal(signal.SIGINT)
