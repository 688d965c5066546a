"""Several sources as one: what fails is said, and only when nothing answers there is no run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundsman.errors import SourceError
from roundsman.sources import Change, LogLine, Unseen, Window
from roundsman.sources.base import BaseSource
from roundsman.sources.combined import CombinedSource
from roundsman.sources.opening import open_sources
from roundsman.sources.spec import SourceSpec, read_sources

WINDOW = Window(1_780_000_000.0, 1_780_003_600.0)


class Lines(BaseSource):
    def __init__(self, texts: list[str], fails: bool = False, extent: Window | None = None) -> None:
        super().__init__(["logs", "changes"])
        self.texts, self.fails, self.covers = texts, fails, extent

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        for one in self.texts:
            yield LogLine(WINDOW.start, "s", "", one, one)
        if self.fails:
            raise SourceError("broke off")

    def changes(self, window: Window) -> list[Change]:
        if self.fails:
            raise SourceError("gone")
        return [Change(WINDOW.start, "commit", "s", self.texts[0])]

    def extent(self) -> Window | None:
        return self.covers


def test_a_member_that_fails_is_a_note_and_the_others_answer() -> None:
    both = CombinedSource([Lines(["a"], fails=True), Lines(["b"])], ["one", "two"])
    assert [line.text for line in both.lines(WINDOW)] == ["a", "b"]
    assert [change.name for change in both.changes(WINDOW)] == ["b"]
    assert both.unseen == [Unseen("logs of one", "broke off"), Unseen("changes of one", "gone")]


def test_when_all_of_a_kind_fail_it_is_an_error_and_no_empty_answer() -> None:
    one = CombinedSource([Lines(["a"], fails=True)], ["one"])
    with pytest.raises(SourceError, match="gone"):
        one.changes(WINDOW)
    with pytest.raises(SourceError, match="broke off"):
        list(one.lines(WINDOW))


def test_a_member_that_dies_takes_no_other_along(tmp_path: Path) -> None:
    class Names(Lines):
        alive = True

        def services(self) -> list[str]:
            if not self.alive:
                raise SourceError("gone")
            return ["pay"]

    for args in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
                                  "--allow-empty", "--no-gpg-sign", "-m", "x"]):  # fmt: skip
        subprocess.run(["git", "-C", str(tmp_path), *args], check=True)
    names = Names(["a"])
    both = open_sources(SourceSpec(git=(str(tmp_path),)), WINDOW, [(names, "names")])
    names.alive = False
    assert both.services() == []
    assert any(change.text == "x" for change in both.changes(Window(0, 4_000_000_000)))
    assert [one.why for one in both.unseen] == ["gone"]


def test_the_extent_is_that_of_those_that_know_it() -> None:
    first, second = Window(10, 20), Window(15, 40)
    some = [Lines(["a"], extent=first), Lines(["b"]), Lines(["c"], extent=second)]
    assert CombinedSource(some, ["a", "b", "c"]).extent() == Window(10, 40)
    assert CombinedSource([Lines(["a"])], ["a"]).extent() is None


def test_what_does_not_answer_is_unseen_while_something_does(tmp_path: Path) -> None:
    (tmp_path / "api.log").write_text("2026-06-01T00:00:00Z ERROR x\n")
    spec = SourceSpec(logs=(str(tmp_path),), prometheus=("http://127.0.0.1:9",))
    source = open_sources(spec, WINDOW)
    assert source.kinds == ["logs"]
    (note,) = source.unseen
    assert note.what == "prometheus http://127.0.0.1:9"
    assert "connection refused" in note.why


def test_nothing_that_answers_is_an_error_with_the_reasons() -> None:
    spec = SourceSpec(logs=("http://127.0.0.1:9",), prometheus=("http://127.0.0.1:9",))
    with pytest.raises(
        SourceError, match=r"127.0.0.1:9/loki.*refused.*; http://127.0.0.1:9.*refused"
    ):
        open_sources(spec, WINDOW)


@pytest.mark.parametrize("kind", ["logs", "git", "prometheus"])
def test_an_empty_entry_is_a_slip_of_the_shell(kind: str) -> None:
    with pytest.raises(SourceError, match=f"--{kind} is empty"):
        open_sources(read_sources({kind: " "}, "incident.yaml", Path()), WINDOW)


@pytest.mark.parametrize("spec", [SourceSpec(logs=("gone",)), SourceSpec(git=("gone",))])
def test_a_path_with_nothing_in_it_is_an_error_though_others_answer(
    tmp_path: Path, spec: SourceSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="gone: "):
        open_sources(spec, WINDOW, [(Lines(["a"]), "a")])


def test_what_is_written_wrongly_is_an_error_though_others_answer(tmp_path: Path) -> None:
    (tmp_path / "api.log").write_text("2026-06-01T00:00:00Z ERROR x\n")
    spec = SourceSpec(logs=(str(tmp_path),), prometheus=("ftp://x",))
    with pytest.raises(SourceError, match=r"--prometheus ftp://x: must begin with http"):
        open_sources(spec, WINDOW)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "must be a mapping"),
        ({"promethues": "http://h"}, "unknown key 'promethues'; did you mean prometheus?"),
        ({"logs": [1]}, "logs must be a text or a list of them"),
        ({"git": ["x"] * 17}, "git has 17 entries, at most 16"),
        ({5: "x"}, "unknown key '5'"),
    ],
)
def test_a_wrong_section_names_its_key(content: object, said: str) -> None:
    with pytest.raises(SourceError, match=r"incident\.yaml: sources") as caught:
        read_sources(content, "incident.yaml", Path("/x"))
    assert said in str(caught.value)


def test_paths_of_a_section_are_relative_to_its_folder() -> None:
    spec = read_sources({"logs": ["a", "loki+http://h"], "git": "/r"}, "incident.yaml", Path("/x"))
    assert spec.logs == ("/x/a", "loki+http://h")
    assert spec.git == ("/r",)
    assert spec.live


def test_a_specification_survives_the_journal() -> None:
    spec = SourceSpec(prometheus=("http://h",), git=("/r",), headers=("h=A: ${B}",))
    assert SourceSpec.from_json(spec.to_json()) == spec
