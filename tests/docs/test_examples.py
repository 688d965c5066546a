"""The examples of the documents are run: ```python as a program, ```console line by line.

In a console block, lines after `$` are commands and the rest is what they print; a line of `...`
stands for anything. A block under `<!-- not run -->` is only shown.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(
    r"(<!-- not run -->\n+)?^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
# What differs from run to run: ids and digests.
_VARIES = re.compile(r"\d{6}-\d{6}-[0-9a-f]{8}|\b[0-9a-f]{12}\b")


def _blocks(language: str) -> list[object]:
    found = []
    for page in PAGES:
        for number, (shown, kind, text) in enumerate(_BLOCK.findall(page.read_text("utf-8"))):
            if kind == language and not shown:
                found.append(pytest.param(text, id=f"{page.stem}-{number}"))
    return found


def _environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    extra = {"PATH": path, "ROUNDSMAN_HOME": str(home), "COLUMNS": "80", "NO_COLOR": "1"}
    return {**os.environ, **extra}


@pytest.mark.parametrize("text", _blocks("python"))
def test_python(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=_environment(tmp_path),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    wanted = re.findall(r"^print\(.*\)  # (.+)$", text, re.MULTILINE)
    assert [w for w in wanted if w not in done.stdout] == [], done.stdout


@pytest.mark.parametrize("text", _blocks("console"))
def test_console(text: str, tmp_path: Path) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            shlex.split(command),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=_environment(tmp_path),
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
        printed = _VARIES.sub("*", " ".join((done.stdout + done.stderr).split()))
        for line in expected.splitlines():
            words = _VARIES.sub("*", " ".join(line.split()))
            if words and words != "...":
                assert words in printed, f"{command}: {line}\n{done.stdout}"


def test_there_are_examples() -> None:
    assert len(_blocks("python")) >= 3
    assert len(_blocks("console")) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [t for t in targets if not (page.parent / t).exists()] == []
