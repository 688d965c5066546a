"""Commits and tags of a Git repository in a window of time, with what they changed.

Git itself is run, with fixed arguments and no shell. What a repository's own configuration could make it run
(pager, external diff, text conversion, signature check, hooks, file monitor, fetching) is switched off.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from roundsman.errors import SourceError
from roundsman.sources.base import BaseSource
from roundsman.sources.config_diff import config_diff
from roundsman.sources.patience import checkpoint
from roundsman.sources.protocols import Change, Command, Unseen, Window
from roundsman.sources.times import iso

#: commits of one window that are read, and those whose contents are
MOST_COMMITS, MOST_DIFFS = 500, 200
#: bytes of one answer, and of one commit's diff
_LIST, _DIFF = 4 * 1024 * 1024, 128 * 1024
#: seconds for one window
SECONDS = 20.0
_TEXT, _PATCH = 2000, 60_000
_OFF = (
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.pager=cat", "diff.external=",
    "log.showSignature=false", "color.ui=false", f"core.attributesFile={os.devnull}",
    "protocol.allow=never", "core.quotePath=false", "diff.noprefix=false", "diff.mnemonicPrefix=false",
)  # fmt: skip
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--first-parent",
          "--diff-merges=first-parent")  # fmt: skip
_MANY = frozenset({"services", "service", "apps", "app", "packages", "components", "charts", "deploy",
                   "deployments", "manifests", "k8s", "kubernetes", "helm", "environments", "overlays",
                   "src", "cmd", "projects", "modules", "libs"})  # fmt: skip
_SHA = re.compile(r"[0-9a-f]{40,64}")
_TAG = re.compile(r"(?P<service>.+?)[/@_-]v?\d[\w.+-]*")


def outer_environment(kept: Sequence[str] = ()) -> dict[str, str]:
    """This process's environment without Git's own variables but those `kept`: inside of a hook, or with
    GIT_DIR or GIT_INDEX_FILE set, they would have Git work on another repository than the one named."""
    return {k: v for k, v in os.environ.items() if k in kept or not k.startswith("GIT_")}


class GitSource(BaseSource):
    """Satisfies Source with the changes of one repository, bare or not, along its current branch.

    A merge counts as one change at the time it was merged. Of a folder inside a repository only what changes
    something below it counts, and that is noted. `known`: names of services the other sources
    know, by which a commit's service is recognised in its paths. Raises SourceError when it is no
    repository.
    """

    def __init__(self, path: Path, known: Callable[[], Sequence[str]] = lambda: ()) -> None:
        super().__init__(["changes"])
        self.path, self._known = path, known
        self._kept: dict[tuple[float, float], list[Change]] = {}
        self._diffs: dict[str, str] = {}
        program = shutil.which("git")
        if program is None:
            raise SourceError(f"--git {path}: git is not installed")
        self._git = program
        if not path.is_dir():
            raise SourceError(f"--git {path}: no such folder")
        self._run("rev-parse", "--git-dir")
        prefix = self._run("rev-parse", "--show-prefix").strip()
        self._below = (".",) if prefix else ()
        self._empty = not self._run("for-each-ref", "--count=1", "--format=%(refname)").strip()
        if self._empty:
            raise SourceError(f"--git {path}: the repository has no commit yet")
        top = path.resolve()
        name = top.parent.name if top.name == ".git" else top.name
        self._own_name = name.removesuffix(".git")
        if prefix:
            why = f"--git names a folder inside of it: only changes below {prefix} are looked at"
            self.note(Unseen(f"the rest of the repository around {path}", why))

    def changes(self, window: Window) -> list[Change]:
        """Commits of the branch and tags in the window, oldest first."""
        key = (window.start, window.end)
        if key not in self._kept:
            found = [*self._commits(window), *self._tags(window)]
            self._kept[key] = sorted(found, key=lambda change: change.at)
        return self._kept[key]

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The log of the window with its diffs."""
        since, until = f"--since={iso(round(window.start))}", f"--until={iso(round(window.end))}"
        where = str(self.path)
        below = ("--", *self._below) if self._below else ()
        return Command(("git", "-C", where, "log", "-p", "--first-parent", since, until, *below))

    def _commits(self, window: Window) -> list[Change]:
        begun = time.monotonic()
        # one second more on both sides: git compares whole seconds
        text = self._run(
            "log", *_PLAIN, "-z", "--name-only", f"--max-count={MOST_COMMITS + 1}",
            f"--since=@{int(window.start) - 1}", f"--until=@{int(window.end) + 1}",
            "--format=%x01%H%x02%ct%x02%P%x02%B%x02", "--end-of-options", "HEAD", "--", *self._below,
        )  # fmt: skip
        rows = []
        for part in text.split("\x01")[1:]:
            sha, at, parents, message, names = (*part.split("\x02", 4), "", "", "", "")[:5]
            files = [name for name in re.split(r"[\0\n]+", names) if name]
            if _SHA.fullmatch(sha) and at.isdigit() and window.holds(float(at)):
                rows.append((sha, float(at), parents.split(), message.strip(), files))
        if len(rows) > MOST_COMMITS:
            why = f"over the newest {MOST_COMMITS} of the window; there are more"
            self.note(Unseen(f"commits of {self.path}", why))
        found, left = [], 0
        for number, (sha, when, above, message, files) in enumerate(rows[:MOST_COMMITS]):
            checkpoint()
            if sha not in self._diffs:
                if number >= MOST_DIFFS or time.monotonic() - begun > SECONDS:
                    left += 1
                else:
                    self._diffs[sha] = self._diff(sha, above)
            diff = self._diffs.get(sha, "")
            owner = self._owner(files)
            found.append(
                Change(
                    at=when,
                    kind="commit",
                    service=owner,
                    name=sha,
                    diff=config_diff(diff),
                    text="\n".join(filter(None, [message, " ".join(files[:50])]))[:_TEXT],
                    commit=sha,
                    patch=diff[:_PATCH],
                    first=not above or ("new file mode" in diff and self._is_new(above, files)),
                )
            )
        if left:
            why = f"diffs not read (over {MOST_DIFFS} commits or {SECONDS:.0f} s)"
            unread = [when for sha, when, *_ in rows[:MOST_COMMITS] if sha not in self._diffs]
            times = f"from {iso(min(unread))} to {iso(max(unread))}"
            self.note(Unseen(f"commits of {self.path} {times}", why, left))
        return found

    def _diff(self, sha: str, above: Sequence[str]) -> str:
        # the first commit of all is the whole of it, and changes nothing that was there before
        if not above or not _SHA.fullmatch(above[0]):
            return ""
        return self._run(
            "diff", *_PLAIN[:3], "--unified=2", "--end-of-options", above[0], sha, "--", *self._below,
            most=_DIFF,
        ).strip()  # fmt: skip

    def _is_new(self, above: Sequence[str], files: Sequence[str]) -> bool:
        """Whether nothing lay in the one folder of a commit's files before it."""
        tops = {file.partition("/")[0] for file in files}
        if len(tops) != 1 or not _SHA.fullmatch(above[0]):
            return False
        (top,) = tops
        return not self._run(
            "ls-tree", "--full-tree", "--name-only", "--end-of-options", above[0], "--", top
        ).strip()

    def _tags(self, window: Window) -> list[Change]:
        text = self._run(
            "for-each-ref", "--sort=-creatordate", "--count=1000",
            "--format=%(creatordate:unix)%01%(refname:strip=2)%01%(objectname)%01%(*objectname)%01"
            "%(subject)", "refs/tags",
        )  # fmt: skip
        found = []
        for line in text.split("\n"):
            at, name, sha, target, subject = (*line.split("\x01"), "", "", "", "", "")[:5]
            if at.isdigit() and window.holds(float(at)):
                match = _TAG.fullmatch(name)
                service = match["service"].rpartition("/")[2] if match else self._own_name
                if self._below and service.lower() != self._own_name.lower():
                    continue
                text = f"{subject} {target or sha}"[:_TEXT]
                commit = target or sha
                found.append(Change(float(at), "tag", service, name, {}, text, commit))
        return found

    def _owner(self, files: Sequence[str]) -> str:
        """The one service whose files these are: a known name in their paths, else the one folder all
        lie in; the repository's own name when there is none."""
        parts = [file.split("/")[:-1] for file in files]
        known = {name.lower(): name for name in self._known()}
        named = {known[p.lower()] for path in parts for p in path if p.lower() in known}
        if len(named) == 1:
            return named.pop()
        tops = {next((p for p in path if p.lower() not in _MANY), "") for path in parts}
        return tops.pop() if len(tops) == 1 and "" not in tops else self._own_name

    def _run(self, *args: str, most: int = _LIST) -> str:
        """Git's answer, cut after `most` bytes. Raises SourceError with what git says."""
        config = [word for one in _OFF for word in ("-c", one)]
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1",
                 "GIT_ALLOW_PROTOCOL": "none", "GIT_PAGER": "cat", "LC_ALL": "C", "TZ": "UTC"}  # fmt: skip
        process = subprocess.Popen(
            [self._git, "--no-pager", *config, "-C", str(self.path), *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**outer_environment(), **quiet},
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        too_long = threading.Timer(SECONDS, process.kill)
        too_long.daemon = True
        too_long.start()
        try:
            data = process.stdout.read(most)
            cut = len(data) == most
            if cut:
                process.kill()
            said = process.stderr.read(4096).decode("utf-8", "replace")
            code = process.wait()
        finally:
            too_long.cancel()
            process.kill()
            process.stdout.close()
            process.stderr.close()
        if code and not cut:
            line = " ".join(said.split())[:300]
            why = line or f"git {args[0]} took over {SECONDS:.0f} s"
            if "not a git repository" in line:
                why = "no Git repository"
            elif "dubious ownership" in line:
                why = "belongs to somebody else; allow it with: git config --global --add safe.directory"
            raise SourceError(f"--git {self.path}: {why}")
        return data.decode("utf-8", "replace")
