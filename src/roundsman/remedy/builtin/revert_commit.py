"""Revert the commit that was convicted, and deploy."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from roundsman.remedy import commands
from roundsman.remedy.base import Args, NotApplied
from roundsman.remedy.commands import CommandFailed
from roundsman.remedy.config import Configured
from roundsman.remedy.finding import Finding
from roundsman.sources.git import outer_environment

_SHA = re.compile(r"[0-9a-f]{40,64}")
_GIT_S = 60.0
_FORCED = (
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "commit.gpgSign=false",
    "log.showSignature=false", "diff.noprefix=false", "diff.mnemonicPrefix=false",
    "diff.relative=false", "apply.whitespace=nowarn", "apply.ignoreWhitespace=no",
)  # fmt: skip
"""Somebody's configuration that would run code, or have another patch made or applied than the revert."""
_WHO = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
"""Variables of the environment Git is left: in whose name it is committed."""
_MARK = "Roundsman-Remedy"
_UNCOMMITTED = (
    "there are changes that are not committed (see git status; when they are a revert that was cut off, "
    "git reset --merge HEAD takes them back)"
)


class RevertCommit(Configured):
    """`git revert` in the repository the user declared for the service, on its current branch, then the
    declared `deploy` command. Nothing is pushed by itself. Hooks do not run."""

    name = "revert-commit"
    about = "revert the commit that is the cause, and deploy by the command declared for it"
    causes = "a commit, or a deploy that ships one"
    undoing = "the revert is reverted, and deployed the same way"

    def call_for(self, finding: Finding) -> Args | str:
        """The commit, when it can be reverted without a conflict."""
        if not _SHA.fullmatch(finding.commit):
            return "the cause names no commit"
        declared = self.service(finding.service)
        if declared is None or declared.repository is None:
            return self.missing(
                finding.service, "repository", "the working copy it is deployed from"
            )
        if not declared.deploy:
            return self.missing(finding.service, "deploy", "the command that deploys from it")
        repository = str(declared.repository)
        try:
            head = _git(repository, "rev-parse", "HEAD")
            _git(repository, "merge-base", "--is-ancestor", finding.commit, "HEAD")
            if _changes(repository):
                return f"{repository} holds changes that are not committed"
            parents = _git(repository, "rev-list", "--parents", "-n1", finding.commit).split()
            if len(parents) != 2:
                return f"{finding.commit[:12]} has {len(parents) - 1} parents; only one is reverted"
            _git(_top(repository), "apply", "--check", "--index", "-",
                 given=_patch(repository, finding.commit, f"{finding.commit}^"))  # fmt: skip
        except CommandFailed as error:
            return f"{finding.commit[:12]} cannot be reverted as things stand: {error}"
        deploy = commands.filled(declared.deploy, finding.service)
        return {"service": finding.service, "repository": repository, "commit": finding.commit,
                "head": head, "deploy": deploy}  # fmt: skip

    def resource(self, service: str, **args: Any) -> str:
        """The service."""
        return f"service {service}"

    def dry_run(
        self, repository: str, commit: str, head: str, deploy: list[str], **args: Any
    ) -> Sequence[str]:
        """The revert, what it touches, and the command."""
        files = _git(repository, "show", "--format=", "--name-only", commit).split("\n")
        subject = _git(repository, "show", "-s", "--format=%s", commit)
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        return [
            f"in {repository} (at {head[:12]}): git revert {commit[:12]} ({subject[:100]})",
            f"which changes {', '.join(files[:5])}{more}",
            f"run there: {commands.to_run(deploy, repository)}",
        ]

    def apply(self, repository: str, commit: str, head: str, deploy: list[str], **args: Any) -> str:
        """Revert, commit, deploy."""
        now = _git(repository, "rev-parse", "HEAD")
        if not _is_ours(repository, commit, head):
            if now != head:
                raise NotApplied(f"{repository} is at {now[:12]} now, and {head[:12]} was approved")
            try:
                _revert(repository, commit, f"Revert {commit[:12]}")
            except CommandFailed as error:
                raise NotApplied(str(error)) from None
        self.command(deploy, repository)
        return f"reverted {commit[:12]} in {repository} and ran {commands.shown(deploy)}"

    def undo(self, repository: str, commit: str, head: str, deploy: list[str], **args: Any) -> str:
        """Revert the revert, which leaves what others committed since alone; deploy."""
        ours = _is_ours(repository, commit, head)
        if ours:
            _revert(repository, ours, f"Reapply {commit[:12]}")
        self.command(deploy, repository)
        return f"{commit[:12]} is in {repository} again, and {commands.shown(deploy)} was run"

    def was_applied(self, repository: str, commit: str, head: str, **args: Any) -> bool | None:
        """A commit of ours: the deploy may or may not have run. None, and changes on top of what was
        approved: they may be ours, cut off before they were committed. Else it was not."""
        if _is_ours(repository, commit, head) or _cut_off(repository, head):
            return None
        return False

    def was_undone(
        self, repository: str, commit: str, head: str, deploy: list[str], **args: Any
    ) -> bool | None:
        """Our commit stands: it was not, unless changes that are not committed may take it back. It
        stands no more: the deploy may or may not have run."""
        if _is_ours(repository, commit, head):
            return None if _changes(repository) else False
        return None if deploy or _changes(repository) else True

    def state_now(
        self, repository: str, commit: str, head: str, deploy: list[str], **args: Any
    ) -> str:
        """Whether our commit stands; a deploy leaves no trace in the repository."""
        ours = _is_ours(repository, commit, head)
        said = f"reverted by {ours[:12]}" if ours else "not reverted"
        if _changes(repository):
            said += f" and {_UNCOMMITTED}"
        return (
            f"in {repository} {commit[:12]} is {said}; whether {commands.shown(deploy)} was run cannot be "
            "told"
        )

    def afterwards(self, repository: str, commit: str, **args: Any) -> str:
        """Nothing was pushed."""
        return f"the revert of {commit[:12]} is in {repository} and was not pushed: have it pushed"

    def undo_by_hand(self, repository: str, commit: str, deploy: list[str], **args: Any) -> str:
        """Git and the command."""
        return (
            f"in {repository} revert the commit whose message begins with 'Revert {commit[:12]}', then "
            f"run: {commands.shown(deploy)}"
        )


def _is_ours(repository: str, commit: str, head: str) -> str:
    """The commit on top of `head` by which the commit stands reverted; empty when it does not."""
    found = _git(
        repository, "log", f"--format=%H %(trailers:key={_MARK},valueonly)", f"{head}..HEAD"
    )
    standing = ""
    for line in reversed([one for one in found.splitlines() if " " in one]):
        sha, _, of = line.partition(" ")
        if of.strip() == commit:
            standing = sha
        elif of.strip() == standing:
            standing = ""
    return standing


def _changes(repository: str) -> bool:
    """Whether files Git knows differ from HEAD."""
    return bool(_git(repository, "status", "--porcelain", "--untracked-files=no"))


def _cut_off(repository: str, head: str) -> bool:
    """Whether it looks as when a revert on top of `head` was cut off before it was committed."""
    return _git(repository, "rev-parse", "HEAD") == head and _changes(repository)


def _top(repository: str) -> str:
    """The whole working copy, when a folder inside of it is declared."""
    return _git(repository, "rev-parse", "--show-toplevel")


def _revert(repository: str, commit: str, subject: str) -> None:
    """Commit the reverse of a commit, or leave all as it was. Raises CommandFailed."""
    if _changes(repository):
        raise CommandFailed(f"{repository}: {_UNCOMMITTED}")
    try:
        patch = _patch(repository, commit, f"{commit}^")
        # whole or not at all; in a folder below it would leave out what is not in that folder
        _git(_top(repository), "apply", "--index", "-", given=patch)
        message = f"{subject}\n\n{_MARK}: {commit}"
        _git(repository, "commit", "--quiet", "--no-verify", "-m", message)
    except CommandFailed:
        _git(repository, "reset", "--quiet", "--merge", "HEAD")  # keeps what is not ours
        raise


def _patch(repository: str, old: str, new: str) -> str:
    plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index", "-U3",
             "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")  # fmt: skip
    return _git(repository, "diff", *plain, old, new) + "\n"


def _git(repository: str, *args: str, given: str | None = None) -> str:
    """What Git says of that very repository, whatever the environment points at. Raises CommandFailed."""
    forced = [word for one in _FORCED for word in ("-c", one)]
    try:
        done = subprocess.run(
            ["git", *forced, "-C", repository, *args],
            capture_output=True,
            input=(given or "").encode("utf-8", "surrogateescape"),
            timeout=_GIT_S,
            check=False,
            env={**outer_environment(_WHO), "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed(f"git {args[0]}: {error}") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        name = next((one for one in args if not one.startswith("-") and "=" not in one), "git")
        raise CommandFailed(f"git {name} in {repository}: {said or f'status {done.returncode}'}")
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")
