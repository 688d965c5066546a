"""What is mistyped at the command line is named with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundsman.cli import main


def said(*args: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(list(args))
    assert isinstance(left.value.code, int)
    return left.value.code, capsys.readouterr().err


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("command", [("stop",), ("runs", "show"), ("investigate",)])
@pytest.mark.parametrize("value", ["-1", "-30m"])
def test_a_number_below_zero_is_told_from_an_option(
    command: tuple[str, ...], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = said(*command, value, capsys=capsys)
    assert code == 2
    assert f"goes after two of them: roundsman {' '.join(command)} -- VALUE" in told


@pytest.mark.parametrize("value", ["-1", "-30m"])
def test_as_the_value_of_an_option_it_is_judged_as_one(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for args in (("investigate", "/", "--since", value), ("worker", "--at-once", value)):
        code, told = said(*args, capsys=capsys)
        assert (code, f"{value}" in told, "No such option" in told) == (2, True, False)


def test_an_option_nobody_knows_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    code, told = said("runs", "show", "x", "--evdence", capsys=capsys)
    assert (code, "Did you mean '--evidence'" in told, "two of them" in told) == (2, True, False)
