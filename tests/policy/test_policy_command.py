from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from roundsman.cli.policy import policy
from roundsman.errors import PolicyError
from roundsman.policy import load_policy


def test_check_without_a_file_checks_the_default() -> None:
    result = CliRunner().invoke(policy, ["check"])
    assert result.exit_code == 0
    assert "policy default: ok" in result.output
    assert "worst case: at most 6 rounds" in result.output


def test_check_as_json() -> None:
    result = CliRunner().invoke(policy, ["check", "baseline", "--json"])
    data = json.loads(result.output)
    assert data["policy"]["digest"] == load_policy("baseline").digest
    assert data["worst_case"]["unbounded"] == ["actions", "usd"]


def test_show_loads_back(tmp_path: Path) -> None:
    result = CliRunner().invoke(policy, ["show", "strict"])
    file = tmp_path / "strict.yaml"
    file.write_text(result.output)
    assert load_policy(file) == load_policy("strict")
    as_json = json.loads(CliRunner().invoke(policy, ["show", "strict", "--json"]).output)
    assert as_json["policy"]["run"]["wall_clock"] == "5m"


def test_schema_is_json() -> None:
    assert "$schema" in json.loads(CliRunner().invoke(policy, ["schema", "--json"]).output)


def test_a_bad_file_raises_the_policy_error() -> None:
    result = CliRunner().invoke(policy, ["check", "nothing.yaml"])
    assert isinstance(result.exception, PolicyError)
    assert result.exception.exit_code == 2


BAD = "preset: strict\nrun: {tokens: 0}\nplan: {max_replan: 1}\n"


def test_check_as_json_of_a_bad_file_is_json_with_all_errors(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(BAD)
    result = CliRunner().invoke(policy, ["check", str(file), "--json"])
    assert result.exit_code == 2
    data = json.loads(result.output)
    assert data["ok"] is False
    assert len(data["errors"]) == 3
    assert data["errors"][0].endswith("unknown key 'preset'; did you mean 'extends'?")


def test_all_errors_are_printed_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(BAD)
    command = [sys.executable, "-m", "roundsman", "policy", "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.startswith(f"error: {file}:") for line in lines] == [True] * 3


def test_the_command_loads_no_heavy_package() -> None:
    code = (
        "import sys, roundsman.cli.policy;"
        "bad = {'pydantic', 'yaml', 'google.adk', 'genai_prices'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
