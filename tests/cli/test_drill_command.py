"""`roundsman drill`: bad usage is one line, and nothing is started for it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from roundsman.cli import cli, main


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["slow-qery"], "did you mean 'slow-query'"),
        (["slow-query", "--baseline", "1s"], "between 10s and 60m"),
        (["slow-query", "--outage", "soon"], "between 10s and 60m"),
        (["slow-query", "--decoys", "99"], "0<=x<=6"),
        (["slow-query", "--name", "shop=x"], "ROLE one of"),
    ],
)
def test_bad_usage_is_said_in_one_line(
    args: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["drill", "run", *args, "--out", str(tmp_path / "out")])
    assert left.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_list_as_json_says_which_are_harmless() -> None:
    done = CliRunner().invoke(cli, ["drill", "list", "--json"])
    rows = json.loads(done.output)
    assert {row["name"] for row in rows if row["harmless"]} == {"harmless-deploy", "healed-blip"}


def test_a_program_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as left:
        main(["drill", "run", "healed-blip", "--out", str(tmp_path / "out")])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "prometheus-alertmanager" in said
    assert "apt-get install" in said


def test_a_held_drill_says_how_it_is_investigated_and_sigterm_ends_it_as_ctrl_c_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from roundsman.cli.drill import _hold

    def wait(seconds: float) -> None:
        assert (tmp_path / "remedies.yaml").exists()
        os.kill(os.getpid(), signal.SIGTERM)

    server = SimpleNamespace(url="http://127.0.0.1:9", port=8, name="shop")
    lab: Any = SimpleNamespace(
        gateway=server, checkout=server, prometheus=server, victoria=server, alertmanager=server,
        database=SimpleNamespace(dsn=str), control=tmp_path / "control", logs=tmp_path / "my logs",
        releases=SimpleNamespace(settings_file=lambda one: tmp_path / one.name),
        repository=SimpleNamespace(folder=tmp_path / "repository"), wait=wait,
    )  # fmt: skip
    before = signal.getsignal(signal.SIGTERM)
    _hold(lab, tmp_path)  # returns: what comes after a hold is written
    assert not (tmp_path / "remedies.yaml").exists()
    assert signal.getsignal(signal.SIGTERM) == before
    said = capsys.readouterr().err
    assert f"investigate --prometheus http://127.0.0.1:9 --git {tmp_path}/repository" in said
    assert f"--logs '{tmp_path}/my logs'" in said
