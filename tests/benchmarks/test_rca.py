"""Which files a set is read from: what is not one is told in a line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.rca.__main__ import SETS, main


@pytest.mark.parametrize("given", ["folder", "nothing", "text", "other JSON"])
@pytest.mark.parametrize("name", SETS)
def test_answers_of_another_form_are_told_in_a_line(
    name: str,
    given: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases, truth = tmp_path / "cases", tmp_path / "truth"
    (cases / "one" / "incident").mkdir(parents=True)
    (cases / "one" / "alert.json").write_text("{}")
    if given == "folder":
        truth.mkdir()
    elif given != "nothing":
        truth.write_text("no JSON" if given == "text" else "[3]")
    args = ["rca", name, "--cases", str(cases), "--truth", str(truth)]
    monkeypatch.setattr(sys, "argv", args)
    assert main() == 2
    said = capsys.readouterr().err
    assert said.startswith("benchmarks.rca: ")
    assert said.count("\n") == 1
    assert str(truth if given == "nothing" else tmp_path) in said
