"""Logs given by a path: what is read, and what of it is told because it cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundsman.errors import SourceError
from roundsman.sources.log_paths import LogPath
from roundsman.sources.protocols import Unseen, Window

ALWAYS = Window(0, 4e9)
LINE = '{"ts": "2026-03-01T10:00:00Z", "msg": "refused"}\n'


def test_what_cannot_be_read_among_logs_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "api.log").write_text(LINE)
    (tmp_path / "in" / "zero.log").touch()  # a log of which nothing came is no fault
    (tmp_path / "in" / "core.bin").write_bytes(b"\x00")
    (tmp_path / "web.log").mkdir()
    (tmp_path / "gone.log").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "queue.log")
    os.mkfifo(tmp_path / "control")  # not named as a log
    found = LogPath(tmp_path)
    assert len(list(found.lines(ALWAYS))) == 1
    assert found.unseen == [
        Unseen("web.log", "a folder where a file is expected"),
        Unseen("gone.log", "a link to nothing"),
        Unseen("queue.log", "a pipe, no file"),
    ]


def test_a_folder_named_as_a_log_that_holds_logs_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "web.log").mkdir()
    (tmp_path / "web.log" / "1.log").write_text(LINE)
    assert LogPath(tmp_path).unseen == []


@pytest.mark.parametrize("alone", [False, True])
def test_where_there_is_nothing_else_what_cannot_be_read_is_the_reason(
    tmp_path: Path, alone: bool
) -> None:
    os.mkfifo(pipe := tmp_path / "queue.log")
    with pytest.raises(SourceError, match=r"^--logs \S+: (queue.log: )?a pipe, no file$"):
        LogPath(pipe if alone else tmp_path)


def test_a_path_that_is_not_there_is_told_in_the_words_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        LogPath(tmp_path / "gone.log")
