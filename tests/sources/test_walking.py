"""What is there and cannot be read is told, and costs no more than itself."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundsman.errors import SourceError
from roundsman.investigate.incident import load_incident
from roundsman.sources import IncidentFolder

LINES = "".join(f"2026-01-01T10:{minute:02d}:00Z INFO served\n" for minute in range(30))
Deny = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "case"
    (root / "logs").mkdir(parents=True)
    (root / "logs" / "api.log").write_text(LINES)
    return root


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Deny:
    """Take the right to read something away, from a superuser as well."""
    denied: list[str] = []

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(what: Any, *args: Any, **more: Any) -> Any:
            if isinstance(what, str | os.PathLike) and os.fspath(what) in denied:
                raise PermissionError(13, "Permission denied", os.fspath(what))
            return real(what, *args, **more)

        return call

    monkeypatch.setattr(os, "scandir", refusing(os.scandir))
    monkeypatch.setattr(os, "listdir", refusing(os.listdir))
    monkeypatch.setattr(io, "open", refusing(io.open))
    return lambda path: denied.append(str(path))


def unseen(folder: Path) -> dict[str, str]:
    incident = load_incident(folder)
    list(incident.source.lines(incident.window))
    return {one["what"]: one["why"] for one in incident.unseen}


@pytest.mark.parametrize("name", ["metrics", "traces", "context"])
def test_a_folder_without_the_right_to_it_is_told(folder: Path, name: str, deny: Deny) -> None:
    (folder / name).mkdir()
    deny(folder / name)
    assert unseen(folder)[name] == "cannot be read: Permission denied"


@pytest.mark.parametrize("name", ["deploys.json", "flags.json", "alert.json", "graph.csv"])
def test_a_file_without_the_right_to_it_is_told(folder: Path, name: str, deny: Deny) -> None:
    (folder / name).write_text("[]")
    deny(folder / name)
    assert unseen(folder)[name] == "cannot be read: Permission denied"


def test_one_log_of_several_without_the_right_to_it_is_told_once(folder: Path, deny: Deny) -> None:
    (folder / "logs" / "web.log").write_text(LINES)
    deny(folder / "logs" / "web.log")
    assert unseen(folder) == {"log file web.log": "cannot be read: Permission denied"}


@pytest.mark.parametrize("name", ["deploys.json", "alert.json", "metrics.csv", "logs.json"])
def test_a_folder_in_the_place_of_a_file_is_told(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    assert unseen(folder)[name] == "a folder where a file is expected"


@pytest.mark.parametrize(
    "name", ["metrics/web.csv", "metrics/a/web.parquet", "logs/web.log", "logs/web.txt.gz"]
)
def test_a_folder_named_like_a_file_is_told_wherever_files_are_looked_for(
    folder: Path, name: str
) -> None:
    (folder / name).mkdir(parents=True)
    assert unseen(folder) == {name: "a folder where a file is expected"}


@pytest.mark.parametrize("name", ["logs/host-1", "logs/2026.01", "logs/web.log", "metrics/daily"])
def test_a_folder_whose_files_are_read_is_no_news(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    if name.startswith("metrics"):
        (folder / name / "web.csv").write_text("timestamp,cpu\n2026-01-01T10:00:00Z,1\n")
    else:
        (folder / name / "part.log").write_text(LINES)
    assert unseen(folder) == {}


@pytest.mark.parametrize("name", ["logs/host-1", "metrics/daily"])
def test_an_empty_folder_of_an_ordinary_name_is_no_news(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    assert unseen(folder) == {}


@pytest.mark.parametrize("place", ["web.log", "logs/web.log", "metrics/web.csv", "deploys.json"])
def test_pipes_and_links_in_a_circle_or_to_nothing_are_told(folder: Path, place: str) -> None:
    file = folder / place
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    assert unseen(folder)[place] == "a pipe, no file"
    file.unlink()
    file.symlink_to(file)
    assert "cannot be read: " in unseen(folder)[place]
    file.unlink()
    file.symlink_to(folder / "gone")
    assert unseen(folder)[place] == "a link to nothing"


def test_a_link_to_a_folder_is_not_followed_and_told(folder: Path) -> None:
    (folder / "logs" / "more").symlink_to(folder)
    assert "not followed" in unseen(folder)["logs/more"]


def test_a_second_link_to_a_file_is_no_news(folder: Path) -> None:
    (folder / "logs" / "same.log").symlink_to(folder / "logs" / "api.log")
    assert unseen(folder) == {}


def test_a_damaged_file_is_named_once(folder: Path) -> None:
    (folder / "deploys.json").write_text('{"at": 1}\n{"ver')
    assert unseen(folder)["deploys.json"].startswith("line 2: not JSON")
    (folder / "deploys.json").write_text("")
    assert unseen(folder)["deploys.json"] == "empty file, expected a JSON list"


def test_a_folder_of_which_nothing_can_be_read_says_which_and_why(folder: Path, deny: Deny) -> None:
    deny(folder / "logs")
    with pytest.raises(SourceError, match="logs: cannot be read: Permission denied"):
        IncidentFolder(folder)


@pytest.mark.parametrize("name", ["incident.yaml", "incident.yml"])
def test_what_says_the_question_must_be_readable(folder: Path, name: str, deny: Deny) -> None:
    (folder / name).write_text("question: Why?\n")
    deny(folder / name)
    with pytest.raises(SourceError, match=f"{name}: cannot be read: Permission denied"):
        load_incident(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(SourceError, match=f"{name}: a folder where a file is expected"):
        load_incident(folder)
