"""What would leave the machine is printed as it would leave, and nothing is sent or kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from roundsman.cli import cli
from roundsman.errors import UsageError
from roundsman.investigate.answers import RESULT
from roundsman.investigate.dry_run import as_text, dry_run
from roundsman.investigate.request import Request
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))


def test_it_shows_the_request_and_the_results_a_model_would_get(tmp_path: Path) -> None:
    found = dry_run(Request.of_folder(OUTAGE), load_policy("default"), "gemini-2.5-flash")
    first, second = found["requests"]
    assert "You investigate one incident" in first["instruction"]
    assert {tool["name"] for tool in first["tools"]} >= {
        "query_metrics",
        "query_logs",
        "list_deploys",
    }
    assert "StorefrontApiHighErrorRate" in json.dumps(first["contents"])
    results = [
        part["function_response"]
        for content in second["contents"]
        for part in content["parts"]
        if "function_response" in part
    ]
    assert [one["name"] for one in results] == ["query_metrics", "query_logs", "list_deploys"]
    assert all(
        len(json.dumps(one["response"], ensure_ascii=False)) <= RESULT + 200 for one in results
    )
    assert "db_pool_in_use" in json.dumps(results[0])
    assert found["sent"] is False
    assert not (tmp_path / "home").exists()
    text = as_text(found)
    assert "db_pool_in_use" in text
    assert "Nothing was sent" in text


def test_the_analyst_is_sent_nothing() -> None:
    found = dry_run(Request.of_folder(OUTAGE), load_policy("default"), "analyst")
    assert found["requests"] == []
    assert "no model is sent anything" in found["rest"]


@pytest.mark.parametrize(
    ("model", "server", "said"),
    [
        ("analist", (), "did you mean 'analyst'?"),
        ("Gemini-2.5-flash", (), "did you mean 'gemini-2.5-flash'?"),
        ("nobody", (), "'nobody' is not known (Model nobody not found.); try analyst, "),
        ("gemini-2.5-flash", ("--base-url", "http://127.0.0.1:9"), "takes --model openai/NAME"),
        ("openai/", ("--base-url", "http://127.0.0.1:9"), "takes --model openai/NAME"),
    ],
)
def test_a_name_no_run_would_take_is_refused(
    model: str, server: tuple[str, ...], said: str
) -> None:
    args = ["investigate", str(OUTAGE), "--dry-run", "--model", model, *server]
    done = CliRunner().invoke(cli, args)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert done.stdout == ""


def test_on_the_command_line_it_needs_no_key_and_prints_json_too() -> None:
    args = ["investigate", str(OUTAGE), "--model", "openai/some-model", "--dry-run"]
    plain = CliRunner().invoke(cli, args)
    assert plain.exit_code == 0, plain.output
    assert "To openai/some-model:" in plain.stdout
    as_json = CliRunner().invoke(cli, [*args, "--json"])
    assert json.loads(as_json.stdout)["model"] == "openai/some-model"
