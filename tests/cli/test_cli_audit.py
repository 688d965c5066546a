from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roundsman.cli.audit import audit
from roundsman.errors import PolicyError, RefusedToStart, UsageError
from roundsman.policy import load_policy

APP = """
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.tools import AgentTool
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.tools.openapi_tool import OpenAPIToolset
from google.adk.workflow import START, Workflow

def read_log(service: str, lines: int = 3) -> dict:
    return {}

def apply_fix(node_input: str) -> str:
    return ""

SPEC = '{"openapi": "3.0.0", "info": {"title": "t", "version": "1"}, "paths": {}}'
clerk = LlmAgent(name="clerk", model="m", tools=[read_log], description="d")
rest = OpenAPIToolset(spec_str=SPEC, spec_str_type="json")
root = LlmAgent(name="shop", model="m", tools=[AgentTool(clerk), rest])
app = App(name="shop", root_agent=root)
coder = LlmAgent(name="coder", model="m", code_executor=UnsafeLocalCodeExecutor())
flow = Workflow(name="flow", edges=[(START, apply_fix)])
number = 5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "an_app.py").write_text(APP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if not name.startswith(("google", "roundsman")):
            del sys.modules[name]


def call(*args: str) -> Result:
    return CliRunner().invoke(audit, list(args), standalone_mode=False)


def test_a_covered_app_is_listed_path_by_path() -> None:
    done = call("an_app:app")
    assert done.return_value == 0
    rows = [line.split() for line in done.output.splitlines()]
    assert ["guarded", "clerk.read_log", "function"] in [row[:3] for row in rows]
    assert done.output.splitlines()[-1].endswith("no gap")


def test_a_gap_leaves_with_4_and_is_named() -> None:
    done = call("an_app:coder", "--json")
    assert done.return_value == 4
    said = json.loads(done.output)
    assert said["ok"] is False
    (gap,) = [f for f in said["findings"] if f["gap"]]
    assert (gap["path"], gap["construct"]) == ("coder", "code_executor")


def test_a_gap_the_policy_excepts_is_no_gap(folder: Path) -> None:
    policy = folder / "p.yaml"
    policy.write_text("exceptions: [{path: coder, why: it is in a container}]", encoding="utf-8")
    done = call("an_app:coder", "--policy", str(policy))
    assert done.return_value == 0
    assert "excepted  coder" in done.output
    assert "it is in a container" in done.output


def test_the_declaration_is_a_policy_that_covers_the_app(folder: Path) -> None:
    written = call("an_app:app", "--init").output
    policy = folder / "shop.yaml"
    policy.write_text(written, encoding="utf-8")
    loaded = load_policy(policy)
    assert set(loaded.tools.allow) == {"clerk", "read_log"}
    assert {t.effect for t in loaded.tools.allow.values()} == {"write"}
    assert loaded.tools.default == "refuse"
    assert "arguments: service, lines" in written
    assert "name the tools of shop.OpenAPIToolset" in written
    assert call("an_app:app", "--policy", str(policy)).return_value == 0


def test_a_node_is_declared_by_its_name_or_is_a_gap(folder: Path) -> None:
    assert call("an_app:flow").return_value == 0
    policy = folder / "p.yaml"
    policy.write_text(
        "tools: {default: refuse, allow: {read_log: {effect: read}}}", encoding="utf-8"
    )
    assert call("an_app:flow", "--policy", str(policy)).return_value == 4
    policy.write_text(call("an_app:flow", "--init").output, encoding="utf-8")
    assert call("an_app:flow", "--policy", str(policy)).return_value == 0


def test_names_of_the_policy_that_nothing_bears_are_said(folder: Path) -> None:
    policy = folder / "p.yaml"
    policy.write_text(
        "tools: {default: allow, allow: {read_logs: {effect: read}, clerk: {max_calls: 2}}}",
        encoding="utf-8",
    )
    done = call("an_app:clerk", "--policy", str(policy))
    assert done.return_value == 4
    assert "refused  tools.allow.read_logs  no tool has this name" in done.output
    assert "did you mean 'read_log'?" in done.output
    assert "warning  clerk.read_log" in done.output
    assert "1 gap: tools.allow.read_logs" in done.output
    said = json.loads(call("an_app:app", "--policy", str(policy), "--json").output)
    assert said["ok"] is True  # its toolset may bring the name
    assert {n["path"] for n in said["names"]} == {"tools.allow.read_logs", "clerk.read_log"}
    policy.write_text(
        "tools: {default: refuse, allow: {read_log: {effect: read}, erase: {}}}", encoding="utf-8"
    )
    done = call("an_app:clerk", "--policy", str(policy))
    assert done.return_value == 0
    assert done.output.splitlines()[-1] == "2 paths, no gap; 1 warning"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("an_app", "names no app; write MODULE:APP"),
        (":app", "names no app"),
        ("../an_app:app", "names no app"),
        ("nowhere:app", "no module 'nowhere'"),
        ("an_app:nope", "has no 'nope'; apps and agents in it: .*app"),
        ("an_app:number", "app is 5"),
        ("an_app:app.name", "app is 'shop'"),
    ],
)
def test_bad_targets_are_said_in_one_line(target: str, said: str) -> None:
    done = call(target)
    assert isinstance(done.exception, UsageError)
    with pytest.raises(UsageError, match=said):
        raise done.exception
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise KeyError('API_KEY')", r"KeyError: 'API_KEY' \(.*broken.py:1\)"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import nothere.at_all", "broken needs 'nothere', which is not installed"),
        ("def f(:", r"SyntaxError: .*broken.py, line 1"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
    ],
)
def test_an_app_that_fails_at_import_is_said_in_one_line(
    code: str, said: str, folder: Path
) -> None:
    (folder / "broken.py").write_text(code, encoding="utf-8")
    done = call("broken:app")
    assert isinstance(done.exception, UsageError)
    with pytest.raises(UsageError, match=said):
        raise done.exception
    assert "\n" not in str(done.exception)


def test_an_app_that_guards_itself_is_audited_under_its_own_policy(folder: Path) -> None:
    code = (
        "from an_app import coder\nfrom roundsman import guarded\napp = guarded(coder, 'p.yaml')\n"
    )
    (folder / "own.py").write_text(code, encoding="utf-8")
    (folder / "p.yaml").write_text("exceptions: [{path: coder, why: x}]", encoding="utf-8")
    assert call("own:app").return_value == 0
    (folder / "p.yaml").write_text("extends: default", encoding="utf-8")
    sys.modules.pop("own")
    done = call("own:app")
    assert isinstance(done.exception, RefusedToStart)
    assert done.exception.exit_code == 4


def test_a_policy_that_is_none_is_said() -> None:
    assert isinstance(call("an_app:app", "--policy", "nope").exception, PolicyError)
    assert isinstance(call("an_app:app", "--init", "--json").exception, UsageError)
