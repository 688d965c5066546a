"""Which code an approval of a remedy is of: its module, and what that imports of the user's own files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from remedy_desk import Desk
from test_remedy_runs import GOOD_UNDO, mine

from roundsman.remedy.reached import reached

FILES = {
    "theirs/__init__.py": "from theirs.tools import ladder\n",
    "theirs/remedy.py": "import json, yaml, click\nfrom . import plain\n"
    "def apply():\n    from theirs.late import go\n    import lone\n",
    "theirs/plain.py": "from .tools.ladder import RUNGS\nfrom roundsman.remedy import Remedy\n",
    "theirs/late.py": "import theirs.remedy\ngo = 1\n",
    "theirs/tools/__init__.py": "",
    "theirs/tools/ladder.py": "RUNGS = 3\n",
    "theirs/unused.py": "x = 1\n",
    "lone.py": "import half\nfrom spaced import inner\nimport no_such_module\n",
    "half.py": "def (:\n",
    "spaced/inner.py": "y = 1\n",  # a package without __init__
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.partition(".")[0] in ("theirs", "lone", "spaced"):
            del sys.modules[name]


def test_what_is_imported_however_deep_and_wherever_it_is_written(place: Path) -> None:
    found = reached(importlib.import_module("theirs.remedy"))
    left = {"theirs/remedy.py", "theirs/unused.py"}
    names = [
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in FILES
        if name not in left
    ]
    assert list(found) == sorted(names)
    assert found["theirs.tools.ladder"] == b"RUNGS = 3\n"
    assert not {"theirs.late", "lone", "spaced.inner"} & set(sys.modules)  # looked at, not run


def test_what_is_installed_is_not_the_users_own() -> None:
    import yaml

    import roundsman.remedy.builtin.set_config_back as ours

    assert reached(ours) == {}
    assert reached(yaml) == {}
    assert reached(sys) == {}


@pytest.mark.parametrize(
    "how", ["import their_helper", "if 0:\n    from their_helper import NOTHING"]
)
def test_a_changed_helper_of_a_remedy_is_not_what_was_approved(
    desk: Desk, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "their_helper.py").write_text("HOW = 1\n")
    own = mine(desk)
    file = desk.world.here / "mine.py"
    file.write_text(f"{how}\n{file.read_text()}")
    remedies = ("--remedies", str(desk.world.remedies), "--remedies", own)
    run_id = desk.apply("grow-the-pool", *remedies)
    assert desk.say("approve", run_id)[0] == 0
    (tmp_path / "their_helper.py").write_text("HOW = 2\n")
    code, told = desk.say("resume", run_id)
    assert (code, "the code of the remedy was" in told, desk.world.pool) == (2, True, 20)
    (tmp_path / "their_helper.py").write_text("HOW = 1\n")
    (tmp_path / "else.py").write_text("HOW = 2\n")
    code, printed = desk.say("resume", run_id)
    assert (code, printed.startswith("ROLLED BACK")) == (4, True), printed
    sys.modules.pop("their_helper", None)
    assert GOOD_UNDO in file.read_text()


def test_what_is_loaded_is_found_where_it_came_from(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("theirs.remedy")
    before = reached(module)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(place)])
    importlib.invalidate_caches()
    assert "theirs.plain" in before
    assert {"theirs.plain", "theirs.tools.ladder"} <= set(reached(module))
