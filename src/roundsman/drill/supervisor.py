"""Processes of a drill: started, waited for, watched, and all of them ended whatever happens.

Everything runs in the thread that made the supervisor: the kernel signals a child whose starting
*thread* has ended, so a helper thread would take its children with it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from roundsman.errors import DrillFailed

_POLL = 0.1
_TAIL = 600


@dataclass
class Spec:
    """How one process is started.

    output: file its standard output and error are appended to. ready: tells whether it serves; None:
    ready at once. user: the account it drops to (only when the drill runs as root). stop_with: the
    signal that asks it to end; orphaned: the one it gets when the drill itself was killed. memory:
    resident bytes at which it is killed and started again.
    """

    name: str
    args: Sequence[str]
    output: Path
    ready: Callable[[], bool] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    user: str | None = None
    pass_fds: Sequence[int] = ()
    stop_with: signal.Signals = signal.SIGTERM
    orphaned: signal.Signals = signal.SIGKILL
    patience: float = 30.0
    memory: int | None = None


class Process:
    """One started process, in a session and process group of its own."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.started = time.time()
        # ends with us even when we are killed and clean nothing up
        guard = [shutil.which("setpriv") or "setpriv", "--pdeathsig", spec.orphaned.name[3:]]
        if spec.user is not None and os.geteuid() == 0:
            guard += [f"--reuid={spec.user}", f"--regid={spec.user}", "--init-groups"]
        with spec.output.open("ab") as output:
            self._popen = subprocess.Popen(
                [*guard, *spec.args],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**_clean_environment(), **spec.env},
                cwd=spec.cwd,
                pass_fds=tuple(spec.pass_fds),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id, which is its group's as well."""
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """What it ended with; None while it runs."""
        return self._popen.poll()

    @property
    def resident(self) -> int:
        """Resident memory in bytes; 0 once it has ended."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the group; nothing happens when it has already ended."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        return self.code is not None

    def stop(self, seconds: float = 5.0) -> None:
        """Ask it to end, then kill its group."""
        # PostgreSQL's main process wants the signal alone: its children are asked by it
        if self.code is None:
            self._popen.send_signal(self.spec.stop_with)
        if not self.wait(seconds):
            self.signal(signal.SIGKILL)
            self.wait(5.0)

    def tail(self) -> str:
        """The last lines it wrote, for an error message."""
        with contextlib.suppress(OSError):
            text = self.spec.output.read_bytes()[-_TAIL:].decode("utf-8", "replace")
            return " | ".join(line.strip() for line in text.splitlines()[-3:])
        return ""


def _clean_environment() -> dict[str, str]:
    """Only what a program needs: a user's own settings must not change a drill."""
    keep = ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
    found = {name: value for name, value in os.environ.items() if name in keep}
    return {**found, "TZ": "UTC", "PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1"}


class Supervisor:
    """Starts processes and, as a context manager, ends all that it started, the last one first.

    `tell` hears of what it did to a process by itself (name, pid, what, why).
    """

    def __init__(self, tell: Callable[[str, int, str, str], None] | None = None) -> None:
        self._running: list[Process] = []
        self._tell = tell or (lambda name, pid, what, why: None)
        self._restart: dict[int, Callable[[], None]] = {}
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_all()

    def on_exit(self, undo: Callable[[], None]) -> None:
        """Something to do once all processes have ended (last added, first done)."""
        self._undo.append(undo)

    def start(self, spec: Spec) -> Process:
        """Start a process; it must live until it is stopped."""
        process = Process(spec)
        self._running.append(process)
        return process

    def expect_death(self, process: Process, then: Callable[[], None]) -> None:
        """This process may die; `then` is called when `look` finds that it did."""
        self._restart[process.pid] = then

    def wait_ready(self, *processes: Process) -> None:
        """Wait until all serve. Raises DrillFailed when one ends first or is not ready in time."""
        for process in processes:
            spec = process.spec
            until = time.monotonic() + spec.patience
            while spec.ready is not None:
                if process.code is not None:
                    raise DrillFailed(
                        f"{spec.name} ended with {process.code} while starting: {process.tail()}"
                    )
                if spec.ready():
                    break
                if time.monotonic() > until:
                    raise DrillFailed(
                        f"{spec.name} was not ready after {spec.patience:.0f} s: {process.tail()}"
                    )
                time.sleep(_POLL)

    def stop(self, process: Process, seconds: float = 5.0) -> None:
        """End one process."""
        self._restart.pop(process.pid, None)
        process.stop(seconds)
        if process in self._running:
            self._running.remove(process)

    def look(self) -> None:
        """One look at all processes: memory limits are kept, deaths handed to who expects them.

        Raises DrillFailed when a process died that must not.
        """
        for process in list(self._running):
            limit = process.spec.memory
            if limit is not None and (resident := process.resident) > limit:
                why = f"resident memory {resident >> 20} MB above its limit of {limit >> 20} MB"
                process.signal(signal.SIGKILL)
                process.wait(5.0)
                self._tell(process.spec.name, process.pid, "killed", why)
            if process.code is None:
                continue
            self._running.remove(process)
            on_death = self._restart.pop(process.pid, None)
            if on_death is None:
                raise DrillFailed(
                    f"{process.spec.name} ended with {process.code} by itself: {process.tail()}"
                )
            self._tell(process.spec.name, process.pid, "ended", f"exit code {process.code}")
            on_death()

    def stop_all(self) -> None:
        """End everything; a second Ctrl-C meanwhile does not leave processes behind."""
        before: Any = signal.SIG_DFL
        with contextlib.suppress(ValueError):  # not in the main thread
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for process in reversed(self._running):
                if process.code is None:
                    with contextlib.suppress(ProcessLookupError):
                        process._popen.send_signal(process.spec.stop_with)
            until = time.monotonic() + 3.0
            while self._running:
                process = self._running.pop()
                process.stop(max(0.1, until - time.monotonic()))
            while self._undo:
                with contextlib.suppress(OSError, subprocess.SubprocessError):
                    self._undo.pop()()
        finally:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGINT, before)
