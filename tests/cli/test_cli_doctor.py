from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from model_server import Raw, model_server, reply

from roundsman.cli.doctor import doctor, fits


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def run(*args: str) -> Result:
    return CliRunner().invoke(doctor, list(args))


def test_ready_without_a_key_and_leaves_no_trace(home: Path) -> None:
    done = run()
    assert done.exit_code == 0, done.output
    assert "ready:" in done.output
    for name in ("python", "roundsman", "google-adk", "duckdb", "state directory", "gemini key"):
        assert name in done.output
    assert not home.exists()


def test_keys_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "sk-secret-value")
    monkeypatch.setenv("OPENAI_API_KEY", "   ")
    for args in ((), ("--json",)):
        assert "secret" not in run(*args).output
    checks = {one["name"]: one for one in json.loads(run("--json").output)["checks"]}
    assert checks["gemini key"]["status"] == "set"
    assert checks["gemini key"]["detail"] == "GEMINI_API_KEY"
    assert checks["openai key"]["status"] == "missing"


def test_a_state_directory_that_cannot_be_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("ROUNDSMAN_HOME", str(bad))
        done = run("--json")
        assert done.exit_code == 4
        data = json.loads(done.output)
        assert data["ok"] is False
        (line,) = [one for one in data["checks"] if one["status"] == "failed"]
        assert "set ROUNDSMAN_HOME" in line["detail"]
        assert "not ready" in run().output


def test_a_missing_or_foreign_engine_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "google-adk":
            raise metadata.PackageNotFoundError(name)
        return "0.9.2" if name == "duckdb" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    done = run()
    assert done.exit_code == 4
    assert "pip install google-adk" in done.output
    assert "0.9.2, but >=" in done.output


@pytest.mark.parametrize(
    ("version", "wanted", "good"),
    [
        ("2.13.0", "<2.14,>=2.13", True),
        ("2.14", "<2.14,>=2.13", False),
        ("2.14.0", "<2.14", False),
        ("2.9", ">=2.13", False),
        ("2.13.1rc1", ">=2.13", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, wanted: str, good: bool) -> None:
    assert fits(version, wanted) is good


@pytest.mark.parametrize("named", ["by option", "by environment"])
def test_a_models_own_server_is_asked_for_its_models(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checked(url: str) -> tuple[int, dict[str, str]]:
        monkeypatch.setenv("ROUNDSMAN_BASE_URL", "" if named == "by option" else url)
        done = run("--json", *(["--base-url", url] if named == "by option" else []))
        (line,) = [c for c in json.loads(done.output)["checks"] if "model server" in c["name"]]
        return done.exit_code, line

    fails = 4 if named == "by option" else 0  # a run without a model does not need it
    for models, status, said in (
        (("small", "large"), "ok", "--model openai/NAME with small, large"),
        ((), "ok", "has no model loaded"),
        (None, "ok", "lists no models"),
        (Raw(b"<html>"), "failed", "--base-url"),
    ):
        with model_server(lambda n, body: reply("x"), models) as server:
            code, line = checked(server.url)
        assert (code, line["status"]) == (fails if status == "failed" else 0, status)
        assert line["name"] == f"model server {server.url}/v1"
        assert said in line["detail"]
        assert server.asked == []
    code, line = checked(server.url)  # it is gone
    assert (code, "is it running" in line["detail"]) == (fails, True)
    code, line = checked("localhost:8080")
    assert (code, "must begin with http" in line["detail"]) == (fails, True)


def test_the_doctor_does_not_load_the_engine() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from roundsman.cli.doctor import doctor; "
        "CliRunner().invoke(doctor, []); "
        "assert not {'google.adk', 'pydantic', 'rich', 'jinja2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
