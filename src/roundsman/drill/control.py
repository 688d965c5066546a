"""Requests to a drill that is held: restart a service, deploy it anew. A folder of files, so that a command
of another process can ask.

    python -m roundsman.drill.control FOLDER restart|deploy SERVICE

is that command; it ends when the drill has answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

ACTIONS = ("restart", "deploy")
_PATIENCE_S = 90.0


def serve(folder: Path, acts: Mapping[str, Callable[[str], None]]) -> None:
    """Answer what is asked by now. `acts`: by the name of the action, each takes a service."""
    for request in sorted(folder.glob("*.request")):
        why = ""
        try:
            asked = json.loads(request.read_text())
            acts[asked["action"]](str(asked["service"]))
        except (KeyError, TypeError, ValueError) as error:
            why = f"no such request: {error}"
        except Exception as error:  # the drill goes on; who asked is told
            why = f"{type(error).__name__}: {error}"
        request.unlink(missing_ok=True)
        _put(request.with_suffix(".answer"), {"why": why})


def ask(folder: Path, action: str, service: str, patience: float = _PATIENCE_S) -> str:
    """Ask, and wait for the answer; why it was not done, empty when it was."""
    if not folder.is_dir():
        return f"{folder}: no drill is held there"
    request = folder / f"{uuid.uuid4().hex}.request"
    answer = request.with_suffix(".answer")
    _put(request, {"action": action, "service": service})
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if answer.exists():
            why = str(json.loads(answer.read_text())["why"])
            answer.unlink()
            return why
        time.sleep(0.1)
    with contextlib.suppress(FileNotFoundError):
        request.unlink()
    return f"the drill did not answer within {patience:g} s"


def _put(file: Path, content: object) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    os.replace(fresh, file)


def main(args: list[str]) -> int:
    """The command."""
    if len(args) != 3 or args[1] not in ACTIONS:
        print("usage: python -m roundsman.drill.control FOLDER restart|deploy SERVICE")
        return 2
    why = ask(Path(args[0]), args[1], args[2])
    if why:
        print(why)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
