"""Reverting in a real repository, and reverting the revert."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roundsman.remedy.base import NotApplied
from roundsman.remedy.builtin import RevertCommit
from roundsman.remedy.commands import CommandFailed
from roundsman.remedy.config import Config, Service
from roundsman.remedy.finding import Finding


class Place:
    """A repository with a good commit and the bad one, and a command that deploys it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.live = folder / "repo", folder / "live"
        self.folder.mkdir()
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "Eve"), ("user.email", "eve@example.invalid")):
            self.git("config", key, value)
        self.commit("size 4\n\n\n\nend\n", "good")
        self.bad = self.commit("size 20\n\n\n\nend\n", "bad")
        deploy = ("cp", str(self.folder / "till.conf"), str(self.live))
        self.remedy = RevertCommit(
            Config("r.yaml", {"till": Service(None, (), self.folder, deploy)})
        )

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", "-C", str(self.folder), *args],
                              check=True, capture_output=True, text=True)  # fmt: skip
        return done.stdout.strip()

    def commit(self, text: str, message: str) -> str:
        (self.folder / "till.conf").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def call(self, commit: str = "") -> dict[str, object] | str:
        finding = Finding("r", "till", "commit", "high", "", 0.0, commit=commit or self.bad)
        said = self.remedy.call_for(finding)
        return said if isinstance(said, str) else dict(said)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_reverted_deployed_and_put_back(place: Place) -> None:
    args = place.call()
    assert isinstance(args, dict), args
    assert "git revert" in place.remedy.dry_run(**args)[0]
    assert "till.conf" in place.remedy.dry_run(**args)[1]
    assert place.remedy.was_applied(**args) is False
    place.remedy.apply(**args)
    assert place.live.read_text().startswith("size 4")
    assert place.remedy.was_applied(**args) is None  # the deploy cannot be looked at
    head = place.git("rev-parse", "HEAD")
    place.remedy.apply(**args)  # an attempt that was cut off is finished: no second revert
    assert place.git("rev-parse", "HEAD") == head
    place.remedy.undo(**args)
    assert place.live.read_text().startswith("size 20")
    assert place.remedy.was_applied(**args) is False
    place.remedy.undo(**args)
    assert place.git("rev-list", "--count", "HEAD") == "4"  # good, bad, revert, reapply
    assert "reverted already" not in str(place.call())


def test_what_cannot_be_reverted_surely_is_not(place: Place) -> None:
    assert "names no commit" in str(place.call("v1.5.0"))
    args = place.call()
    assert isinstance(args, dict)
    place.commit("size 30\n\n\n\nend\n", "meanwhile")
    with pytest.raises(NotApplied, match="was approved"):
        place.remedy.apply(**args)
    assert "cannot be reverted as things stand" in str(place.call())
    (place.folder / "till.conf").write_text("by hand\n")
    assert "not committed" in str(place.call())
    assert (place.folder / "till.conf").read_text() == "by hand\n"


def test_later_commits_stay(place: Place) -> None:
    place.commit("size 20\n\n\n\nnew end\n", "meanwhile")
    args = place.call()
    assert isinstance(args, dict), args
    place.remedy.apply(**args)
    assert place.live.read_text() == "size 4\n\n\n\nnew end\n"


def test_an_undo_cut_off_in_its_deploy_is_not_told_from_one_that_was_deployed(place: Place) -> None:
    args = place.call()
    assert isinstance(args, dict), args
    place.remedy.apply(**args)
    assert place.remedy.was_undone(**args) is False  # our commit stands: it can be undone again
    with pytest.raises(CommandFailed):
        place.remedy.undo(**{**args, "deploy": ["false"]})
    assert place.remedy.was_applied(**args) is False
    assert place.remedy.was_undone(**args) is None
    assert place.live.read_text().startswith("size 4")  # the repository is back, what runs is not


def test_a_revert_cut_off_before_its_commit_is_for_a_person(place: Place) -> None:
    args = place.call()
    assert isinstance(args, dict), args
    place.git("revert", "--no-commit", place.bad)
    assert place.remedy.was_applied(**args) is None
    assert "not reverted and there are changes that are not committed" in place.remedy.state_now(
        **args
    )
    with pytest.raises(NotApplied, match="git reset --merge HEAD takes them back"):
        place.remedy.apply(**args)
    place.git("reset", "--merge", "HEAD")  # the way out that is named
    assert place.remedy.was_applied(**args) is False
    place.remedy.apply(**args)
    place.git("revert", "--no-commit", "HEAD")  # and the same of undoing it
    assert place.remedy.was_undone(**args) is None


def test_what_the_environment_points_git_at_is_left_alone(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(place.folder), str(other)], check=True)
    with monkeypatch.context() as hook:  # as inside of a hook of another repository
        hook.setenv("GIT_DIR", str(other / ".git"))
        hook.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
        hook.setenv("GIT_AUTHOR_NAME", "Mallory")
        args = place.call()
        assert isinstance(args, dict), args
        place.remedy.apply(**args)
    assert place.git("log", "-1", "--format=%s %an") == f"Revert {place.bad[:12]} Mallory"
    assert (place.folder / "till.conf").read_text().startswith("size 4")
    place.folder = other
    assert place.git("rev-parse", "HEAD") == place.bad
    assert place.git("status", "--porcelain") == ""


@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.relative", "diff.mnemonicPrefix"])
def test_of_a_folder_in_a_repository_the_whole_commit_is_reverted(
    place: Place, tmp_path: Path, setting: str
) -> None:
    place.git("config", setting, "true")
    folder = place.folder / "services" / "till"
    folder.mkdir(parents=True)
    (folder / "pool").write_text("4\n")
    place.commit("size 4\n", "good again")
    (folder / "pool").write_text("20\n")
    place.bad = place.commit("size 20\n", "bad again")
    deploy = ("cp", "pool", str(place.live))  # runs in the folder that is declared
    place.remedy = RevertCommit(Config("r.yaml", {"till": Service(None, (), folder, deploy)}))
    args = place.call()
    assert isinstance(args, dict), args
    assert place.remedy.dry_run(**args)[1] == "which changes services/till/pool, till.conf"
    place.remedy.apply(**args)
    assert (place.folder / "till.conf").read_text() == "size 4\n"
    assert place.live.read_text() == "4\n"
    place.remedy.undo(**args)
    assert (place.folder / "till.conf").read_text() == "size 20\n"
    assert place.live.read_text() == "20\n"
