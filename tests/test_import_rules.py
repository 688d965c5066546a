"""Who may import whom, and what must not be loaded or named. See CONTRIBUTING.md for the rooms."""

from __future__ import annotations

import ast
import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "roundsman"
ROOMS = [
    "policy", "guard", "ledger", "loop", "adk", "sources", "analysis", "investigate", "report",
    "remedy", "worker", "drill", "testing", "cli",
]  # fmt: skip
OPEN_TO_ALL = {"errors", "__version__"}
ENGINE_ROOMS = {"adk", "investigate", "remedy", "testing"}
PURE = {"guard", "loop"}
IMPURE = {"sqlite3", "os", "time", "asyncio", "random"}
MODULES = sorted(SRC.rglob("*.py"))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, full dotted name) of every import, those in functions and for types included."""
    package = ["roundsman", *path.relative_to(SRC).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            dotted = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{dotted}.{alias.name}") for alias in node.names)


def _room(path: Path) -> str:
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else ""


def wrong(room: str, name: str) -> str:
    """Why a room may not import a name; empty when it may."""
    parts = name.split(".")
    if parts[0] == "google" and room not in ENGINE_ROOMS:
        return "google.* is for " + ", ".join(sorted(ENGINE_ROOMS))
    if room in PURE and parts[0] in IMPURE:
        return f"{room} is pure"
    if parts[0] != "roundsman" or len(parts) < 2 or parts[1] in OPEN_TO_ALL:
        return ""
    other = parts[1]
    if other not in ROOMS:
        return f"{other} is no room" if room else ""
    if room and ROOMS.index(other) > ROOMS.index(room):
        return f"{other} comes after {room}"
    return ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SRC)))
def test_a_room_imports_only_earlier_rooms(path: Path) -> None:
    room = _room(path)
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {name}: {why}"
        for line, name in _imports(path)
        if (why := wrong(room, name))
    ]
    assert not bad, "\n".join(bad)


def test_every_folder_is_a_known_room() -> None:
    assert {p.parent.name for p in SRC.glob("*/__init__.py")} <= set(ROOMS)


@pytest.mark.parametrize(
    ("room", "name", "allowed"),
    [
        ("loop", "roundsman.adk.app", False),
        ("adk", "roundsman.loop", True),
        ("guard", "time.time", False),
        ("cli", "time", True),
        ("report", "google.adk.apps.App", False),
        ("guard", "roundsman.errors.UsageError", True),
    ],
)
def test_the_check_itself(room: str, name: str, allowed: bool) -> None:
    assert (wrong(room, name) == "") is allowed


@pytest.mark.parametrize(
    "code",
    [
        "import roundsman",
        "from click.testing import CliRunner; from roundsman.cli import cli; "
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0",
    ],
    ids=["import", "help"],
)
def test_a_light_start(code: str) -> None:
    tail = "; import sys; print([m for m in ('google.adk', 'pydantic') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def recorded_names() -> set[str]:
    """Service and metric names of the recordings that ship as examples."""
    names: set[str] = set()
    for file in ROOT.glob("examples/incidents/*/metrics/*.csv"):
        with file.open(newline="", encoding="utf-8") as text:
            for row in csv.DictReader(text):
                names |= {row["service"], row["metric"].partition("{")[0]}
    return names


def test_no_rule_knows_the_recordings() -> None:
    names = recorded_names()
    assert len(names) > 5
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names)))
    hits = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in MODULES
        if _room(path) != "drill"  # it makes recordings, and decides nothing
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not hits, "\n".join(hits)
