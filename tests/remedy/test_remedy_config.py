"""The file of remedies, and remedies of one's own: a slip is one line that names it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from roundsman.errors import UsageError
from roundsman.remedy import commands
from roundsman.remedy.catalogue import load_catalogue
from roundsman.remedy.commands import CommandFailed
from roundsman.remedy.config import Verifying, load_config

OWN = """\
from roundsman.remedy import Remedy
class Good(Remedy):
    name, about = "good", "does good"
    def call_for(self, finding): return {}
    def dry_run(self, **args): return []
    def apply(self, **args): return ""
    def undo(self, **args): return ""
class Half(Remedy):
    name, about = "half", "does half"
class Twice(Good):
    name = "set-config-back"
class Odd(Good):
    name = "Not A Name"
class Picky(Good):
    name = "picky"
    def __init__(self, more): pass
thing = 3
"""


def file_of(folder: Path, text: str) -> Path:
    file = folder / "remedies.yaml"
    file.write_text(text)
    return file


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    config = load_config(file_of(tmp_path, """\
version: 1
services:
  till: {settings: conf/till.env, restart: [systemctl, restart, till]}
  "*": {restart: [restart, "{service}"]}
own: [own.py:Good]
verify: {settle: 5s, looks: 2, every: 1s, within: 1m}
command_timeout: 30s
"""))  # fmt: skip
    assert config.services["till"].settings == tmp_path / "conf/till.env"
    assert (config.verify.looks, config.verify.within, config.command_timeout) == (2, 60.0, 30.0)
    catalogue = load_catalogue([str(tmp_path / "remedies.yaml")])
    assert "good" in catalogue.remedies
    restart = catalogue.remedies["restart-service"]
    assert restart.service("TILL").restart[0] == "systemctl"  # type: ignore[attr-defined]
    assert restart.service("other").restart == ("restart", "{service}")  # type: ignore[attr-defined]


def test_the_file_on_the_page_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "remedies.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    config = load_config(file_of(tmp_path, block))
    assert list(config.services) == ["checkout-api", "*"]
    assert config.verify == Verifying()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must hold version"),
        ("version: 2", "write version: 1"),
        ("version: 1\nservces: {}", "did you mean 'services'"),
        ("version: 1\nservices: {a: {restrt: [x]}}", "did you mean 'restart'"),
        ("version: 1\nservices: {a: {restart: sv restart a}}", r"no shell .* \[sv, restart, a\]"),
        ("version: 1\nservices: {a: {restart: [sleep, 3]}}", "numbers in quotes"),
        ("version: 1\nservices: {a: {settings: [x]}}", "a path is expected"),
        ("version: 1\nservices: [a]", "must name services"),
        ("version: 1\nverify: {every: 10}", "has no unit"),
        ("version: 1\nverify: {looks: 0}", "1 to 100"),
        ("version: 1\nverify: {within: 5s}", "do not fit within 5 s"),
        ("version: 1\nown: [mine]", "FILE.py:CLASS"),
        ("version: 1\n a: b: c", r":2: not YAML"),
        ("version: 1\nservices: {a: {restart: [\"x\\0\"]}}", "NUL"),
    ],
)  # fmt: skip
def test_slips_are_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load_config(file_of(tmp_path, text))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("own.py:Half", "lacks apply, call_for, dry_run, undo"),
        ("own.py:Goood", "remedies in it: Good"),
        ("own.py:thing", "is no Remedy"),
        ("own.py:Odd", "small letters"),
        ("own.py:Twice", "two remedies are called 'set-config-back'"),
        ("own.py:Picky", "remedy picky cannot be made"),
        ("gone.py:Good", "no file"),
        ("no_such_module_here:Good", "needs 'no_such_module_here'"),
        ("broken.py:Good", "fails when loaded: SyntaxError"),
        ("own.py", "FILE.py:CLASS"),
    ],
)
def test_remedies_of_ones_own_are_looked_at(tmp_path: Path, spec: str, why: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "broken.py").write_text("class (")
    path = f"{tmp_path}/{spec}" if ".py" in spec else spec
    with pytest.raises(UsageError, match=why):
        load_catalogue([path])


def test_a_name_from_telemetry_is_never_an_option_or_a_command() -> None:
    assert commands.filled(["restart", "{service}"], "till-api") == ["restart", "till-api"]
    for bad in ("--now", "a b", "a;rm -rf /", "", "../x", "a\nb", "x" * 200):
        with pytest.raises(UsageError, match="no plain name"):
            commands.filled(["restart", "{service}"], bad)
    assert commands.filled(["restart", "all"], "--now") == ["restart", "all"]


def test_commands_end_in_a_line() -> None:
    assert commands.run(["printf", "%s", "a;b $HOME"]) == "a;b $HOME"
    for argv, why in (
        (["/no/such/program"], "No such file"),
        (["sh", "-c", "echo no unit >&2; exit 3"], "status 3: no unit"),
        (["sleep", "60"], "took longer than 0.2 s"),
    ):
        with pytest.raises(CommandFailed, match=why):
            commands.run(argv, 0.2 if argv[0] == "sleep" else 300.0)


def test_a_command_acts_on_the_repository_it_stands_in_and_no_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ours", "hooks"):
        subprocess.run(["git", "init", "-q", str(tmp_path / name)], check=True)
    hooks = tmp_path / "hooks" / ".git"
    for name, value in (("DIR", hooks), ("INDEX_FILE", hooks / "index"), ("PREFIX", "sub/")):
        monkeypatch.setenv(f"GIT_{name}", str(value))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(hooks / "quarantine"))
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -i key")  # how to reach a server is the user's own
    ours = str(tmp_path / "ours")
    (tmp_path / "ours" / "file").write_text("text")
    commands.run(["git", "add", "file"], cwd=ours)
    assert commands.run(["git", "ls-files"], cwd=ours) == "file"
    assert commands.run(["git", "rev-parse", "--show-toplevel"], cwd=ours) == ours
    assert not (hooks / "quarantine").exists()
    assert commands.run(["sh", "-c", "echo $GIT_SSH_COMMAND"]) == "ssh -i key"
