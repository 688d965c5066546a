"""Commands of the user's own, run as argument vectors: without a shell, never made of telemetry."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from roundsman.errors import UsageError

SECONDS = 120.0
"""Seconds a command may take, unless the configuration says otherwise."""
_PLAIN = re.compile(r"[A-Za-z0-9][\w.@-]{0,127}")
_SAID = 300
_OF_ANOTHER = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
     "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"}
)  # fmt: skip
"""Set inside of a hook: a deployment that calls Git would act on that hook's repository."""


class CommandFailed(Exception):
    """A command that could not be run, took too long or ended with a status that is not 0."""


def filled(argv: Sequence[str], service: str) -> list[str]:
    """The vector with `{service}` filled in.

    Raises:
        UsageError: the name of the service could be read as an option or as something else than a name.
    """
    if any("{service}" in one for one in argv) and not _PLAIN.fullmatch(service):
        raise UsageError(
            f"service {service!r} is no plain name, so it is put into no command; name it under "
            "services: with a command of its own"
        )
    return [one.replace("{service}", service) for one in argv]


def shown(argv: Sequence[str]) -> str:
    """The vector as it could be pasted."""
    return shlex.join(argv)


def to_run(argv: Sequence[str], cwd: str | None = None) -> str:
    """The vector as it could be pasted, with a warning when its program is not found here."""
    program = argv[0] if argv else ""
    there = shutil.which(str(Path(cwd or ".", program)) if os.sep in program else program)
    return shown(argv) + ("" if there else f" (WARNING: no program {program!r} is found here)")


def run(argv: Sequence[str], seconds: float = SECONDS, cwd: str | None = None) -> str:
    """Run a command to its end; what it printed (its end, at most 300 characters).

    Raises:
        CommandFailed: with the reason.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={k: v for k, v in os.environ.items() if k not in _OF_ANOTHER},
            start_new_session=True,  # its children end with it
        )
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{shown(argv)}: {error}") from None
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise CommandFailed(
            f"{shown(argv)}: took longer than {seconds:g} s, and was ended"
        ) from None
    except BaseException:
        _end(process)
        raise
    said = " ".join(output.decode("utf-8", "replace").split())[-_SAID:]
    if process.returncode != 0:
        told = f": {said}" if said else ""
        raise CommandFailed(f"{shown(argv)}: ended with status {process.returncode}{told}")
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
