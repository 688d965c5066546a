"""Standard output and standard error that cannot be written: closed, or on a full disk."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, cast

from roundsman.errors import UsageError

_WAY_OUT = "send it to a file or a terminal, or to /dev/null"


class _Forgiving(io.FileIO):
    """A file whose writes never fail: what does not fit is lost."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Remembering(io.FileIO):
    """A file that knows its own failure, so that it can be told from another file's."""

    failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = error
            raise


def prepare_streams(*, unheard: bool = False) -> None:
    """From here on what standard error cannot take is lost and ends no command (it carries progress and
    hints, the answer is on standard output), and `output_lost` knows what became of standard output.
    Streams that were replaced are left alone.

    Args:
        unheard: the command is given for what it does, so it is done also when what it says is lost.

    Raises:
        UsageError: standard output is closed. Better to learn it before the work than after.
    """
    stdout, stderr = cast(Any, sys.stdout), cast(Any, sys.stderr)
    if stderr is not None and stderr is sys.__stderr__:
        sys.stderr = _over(_Forgiving, stderr, lines=True)
    if stdout is None and unheard:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole process
        return
    if stdout is None:
        raise UsageError(f"standard output is closed; {_WAY_OUT}")
    terminal = stdout.isatty()
    if stdout is sys.__stdout__:
        sys.stdout = _over(_Remembering, stdout, lines=terminal)


def _over(kind: type[io.FileIO], old: Any, *, lines: bool) -> io.TextIOWrapper:
    raw = kind(old.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=old.encoding, errors=old.errors, line_buffering=lines
    )


def output_lost() -> UsageError | None:
    """The error to end with when standard output could not be written, else None."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if not isinstance(raw, _Remembering) or raw.failed is None:
        return None
    why = (raw.failed.strerror or str(raw.failed)).lower()
    return UsageError(f"standard output cannot be written: {why}; {_WAY_OUT}")


def to_nowhere(*streams: Any) -> None:
    """What is left in the buffers goes nowhere, or the interpreter would complain of it on its way out."""
    with open(os.devnull, "wb") as nowhere:
        for stream in streams:
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                os.dup2(nowhere.fileno(), stream.fileno())
