"""Processes are started, waited for, watched, and all ended whatever happens."""

from __future__ import annotations

import os
import random
import selectors
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from roundsman.drill.ports import Ports, listen
from roundsman.drill.supervisor import Process, Spec, Supervisor
from roundsman.errors import DrillFailed

# says that it runs, then waits for ever; its child shares its group
_PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def spec(tmp_path: Path, code: str, name: str = "program", **more: object) -> Spec:
    output = tmp_path / f"{name}.log"
    return Spec(name, [sys.executable, "-c", code], output, **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def ended(handle: int) -> bool:
    """Whether the process behind a pidfd has ended, at the latest after a while."""
    with selectors.DefaultSelector() as waiting:  # select itself takes no handle above 1023
        waiting.register(handle, selectors.EVENT_READ)
        found = waiting.select(300)
    os.close(handle)
    return bool(found)


def written(process: Process) -> bool:
    return process.spec.output.read_text().endswith("\n")


def started(supervisor: Supervisor, tmp_path: Path, code: str, name: str = "program") -> Process:
    """A process that has written its first line."""
    process = supervisor.start(spec(tmp_path, code, name))
    process.spec.ready, process.spec.patience = lambda: written(process), 300.0
    supervisor.wait_ready(process)
    return process


@pytest.mark.parametrize("error", [None, RuntimeError, KeyboardInterrupt])
def test_all_processes_end_with_the_block(
    tmp_path: Path, error: type[BaseException] | None
) -> None:
    pids: list[int] = []
    try:
        with Supervisor() as supervisor:
            for name in ("one", "two"):
                process = started(supervisor, tmp_path, _PARENT, name)
                pids.append(process.pid)
            if error is not None:
                raise error
    except (RuntimeError, KeyboardInterrupt):
        pass
    assert [pid for pid in pids if alive(pid)] == []


def test_one_that_ignores_the_request_is_killed_with_its_children(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + _PARENT
    with Supervisor() as supervisor:
        process = started(supervisor, tmp_path, deaf)
        child = os.pidfd_open(int(process.spec.output.read_text()))
        supervisor.stop(process, seconds=0.2)
        assert process.code == -signal.SIGKILL
        assert ended(child)


def test_processes_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from roundsman.drill.supervisor import Spec, Supervisor\n"
        "with Supervisor() as supervisor:\n"
        "    one = supervisor.start(Spec('x', ['sleep', '600'], Path(sys.argv[1])))\n"
        "    line = Path(f'/proc/{one.pid}/cmdline')\n"
        "    one.spec.ready = lambda: line.read_bytes().startswith(b'sleep')\n"
        "    supervisor.wait_ready(one)\n"
        "    print(one.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    outer = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "x.log")], stdout=subprocess.PIPE, text=True
    )
    assert outer.stdout is not None
    pid = int(outer.stdout.readline())
    handle = os.pidfd_open(pid)
    outer.kill()
    outer.wait()
    assert ended(handle)


def test_one_that_dies_while_starting_is_named_with_its_last_words(tmp_path: Path) -> None:
    with Supervisor() as supervisor:
        process = supervisor.start(
            spec(tmp_path, "print('no such colour'); raise SystemExit(7)", ready=lambda: False)
        )
        with pytest.raises(
            DrillFailed, match=r"program ended with 7 while starting.*no such colour"
        ):
            supervisor.wait_ready(process)


def test_one_that_is_never_ready_is_named(tmp_path: Path) -> None:
    with Supervisor() as supervisor:
        process = supervisor.start(spec(tmp_path, _PARENT, ready=lambda: False, patience=0.1))
        with pytest.raises(DrillFailed, match="program was not ready after"):
            supervisor.wait_ready(process)


def test_a_death_nobody_expects_fails_the_drill(tmp_path: Path) -> None:
    with Supervisor() as supervisor:
        process = supervisor.start(spec(tmp_path, "raise SystemExit(3)"))
        assert process.wait(300)
        with pytest.raises(DrillFailed, match="ended with 3 by itself"):
            supervisor.look()


def test_an_expected_death_is_told_once(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    deaths: list[int] = []
    with Supervisor(lambda name, pid, what, why: told.append((what, why))) as supervisor:
        process = supervisor.start(spec(tmp_path, "raise SystemExit(3)"))
        supervisor.expect_death(process, lambda: deaths.append(process.pid))
        assert process.wait(300)
        supervisor.look()
        supervisor.look()
    assert deaths == [process.pid]
    assert told == [("ended", "exit code 3")]


def test_above_its_memory_limit_a_process_is_killed(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    with Supervisor(lambda name, pid, what, why: told.append((what, why))) as supervisor:
        process = started(supervisor, tmp_path, _PARENT)
        supervisor.expect_death(process, lambda: None)
        process.spec.memory = 1 << 40
        supervisor.look()
        assert process.code is None
        process.spec.memory = 1
        supervisor.look()
        assert process.code == -signal.SIGKILL
    assert told[0][0] == "killed"
    assert "above its limit of 0 MB" in told[0][1]


def test_what_was_set_up_is_undone_after_the_processes_have_ended(tmp_path: Path) -> None:
    seen: list[tuple[str, bool]] = []
    with Supervisor() as supervisor:
        process = started(supervisor, tmp_path, _PARENT)
        supervisor.on_exit(lambda: seen.append(("first", alive(process.pid))))
        supervisor.on_exit(lambda: seen.append(("second", alive(process.pid))))
    assert seen == [("second", False), ("first", False)]


def test_two_drills_never_hold_the_same_port() -> None:
    one, two = Ports(), Ports()
    ports = [one.take() for _ in range(20)] + [two.take() for _ in range(20)]
    assert len(set(ports)) == 40
    one.release()
    two.release()


def test_a_port_in_use_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen() as taken:
        port = taken.getsockname()[1]
        at_random, taken_first = random.randint, [port, port]
        monkeypatch.setattr(
            "random.randint", lambda *between: (taken_first or [at_random(*between)]).pop()
        )
        ports = Ports()
        assert ports.take() != port
        assert taken_first == []
        ports.release()


def test_a_socket_handed_out_listens_on_loopback_only() -> None:
    with listen() as found:
        assert found.getsockname()[0] == "127.0.0.1"
        with socket.create_connection(found.getsockname(), timeout=5):
            pass
