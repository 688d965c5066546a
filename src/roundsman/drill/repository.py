"""The Git repository that a drill deploys from: every change of the system is a commit in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roundsman.errors import DrillFailed

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Drill",
    "GIT_AUTHOR_EMAIL": "drill@example.invalid",
    "GIT_COMMITTER_NAME": "Drill",
    "GIT_COMMITTER_EMAIL": "drill@example.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "TZ": "UTC",
}


@dataclass(frozen=True)
class Commit:
    """One commit: its hash, when (epoch seconds), what it says and what it changed."""

    sha: str
    at: float
    message: str
    files: tuple[str, ...]
    diff: str


class Repository:
    """A working copy with `main` as its only branch."""

    def __init__(self, git: Path, folder: Path) -> None:
        self.folder = folder
        self._git = git
        self.commits: list[Commit] = []
        folder.mkdir()
        self._run("init", "--quiet", "--initial-branch=main", "--template=")

    def _run(self, *args: str) -> str:
        done = subprocess.run(
            [str(self._git), "-C", str(self.folder), *args],
            capture_output=True,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "HOME": "/", **_AUTHOR},
        )
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise DrillFailed(f"git {args[0]}: {said[-300:]}")
        return done.stdout.decode("utf-8", "replace")

    def commit(self, message: str, files: Mapping[str, str]) -> Commit:
        """Write files (path -> text) and commit them."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._run("add", "--all")
        self._run("commit", "--quiet", "--no-gpg-sign", "-m", message)
        sha, at = self._run("log", "-1", "--format=%H %ct").split()
        names = self._run("show", "--format=", "--name-only", sha).split("\n")
        diff = self._run("show", "--format=", "--unified=2", sha).strip()
        found = Commit(sha, float(at), message, tuple(n for n in names if n), diff)
        self.commits.append(found)
        return found

    def head(self) -> str:
        """The newest commit."""
        return self._run("rev-parse", "HEAD").strip()

    def read(self, name: str, sha: str = "HEAD") -> str:
        """A file as a commit has it."""
        return self._run("show", f"{sha}:{name}")

    def export(self, sha: str, folder: Path, target: Path) -> Path:
        """One folder of a commit as files under `target`; what was deployed stays what it was."""
        target.mkdir(parents=True)
        archive = target.with_suffix(".tar")
        self._run("archive", f"--output={archive}", sha, str(folder))
        subprocess.run(["tar", "-xf", str(archive), "-C", str(target)], check=True)
        archive.unlink()
        return target / folder

    def copy_to(self, target: Path) -> None:
        """A bare, packed copy: what a recording carries."""
        self._run("gc", "--quiet")
        self._run(
            "clone", "--quiet", "--bare", "--template=", str(self.folder), str(target.absolute())
        )
        # the copy must not name the folder it came from
        subprocess.run(
            [str(self._git), "-C", str(target), "remote", "remove", "origin"],
            check=False,
            capture_output=True,
        )
