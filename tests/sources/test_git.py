"""Commits, merges, tags and changed settings of real repositories; nothing a repository says is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from roundsman.errors import SourceError
from roundsman.sources import Window, git
from roundsman.sources.config_diff import config_diff
from roundsman.sources.git import GitSource

START = 1_780_000_000


class Repo:
    def __init__(self, path: Path) -> None:
        self.path, self.now = path, START
        path.mkdir(parents=True)
        self.run("init", "-q", "--initial-branch=main", "--template=")

    def run(self, *args: str) -> str:
        who = {f"GIT_{r}_{k}": v for r in ("AUTHOR", "COMMITTER")
               for k, v in (("NAME", "n"), ("EMAIL", "e@example.invalid"),
                            ("DATE", f"@{self.now} +0000"))}  # fmt: skip
        env = {"PATH": os.environ["PATH"], "HOME": "/", "GIT_CONFIG_GLOBAL": os.devnull, **who}
        return subprocess.run(
            ["git", "-C", str(self.path), *args],
            env=env,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, message: str, files: dict[str, str], after: int = 60) -> str:
        self.now += after
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.run("add", "--all")
        self.run("commit", "-q", "--no-gpg-sign", "-m", message)
        return self.run("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "shop")


ALL = Window(START, START + 100_000)


def test_a_changed_setting_is_seen_with_both_values(repo: Repo) -> None:
    repo.commit("first", {"api/config.yaml": "pool: 4\nname: x\n", "api/main.py": "a = 1\n"})
    sha = repo.commit("more room\n\nfor the sale", {"api/config.yaml": "pool: 40\nname: x\n"})
    first, change = GitSource(repo.path).changes(ALL)
    assert (change.kind, change.service, change.name) == ("commit", "api", sha)
    assert change.at == START + 120
    assert change.diff == {"pool": (4, 40)}
    assert "more room" in change.text
    assert "+pool: 40" in change.patch
    assert change.commit == sha
    assert (first.diff, first.patch) == ({}, "")  # nothing was there before
    assert not change.first


def test_what_begins_a_service_is_told_from_what_changes_it(repo: Repo) -> None:
    repo.commit("pay", {"pay/main.py": "a = 1\n"})
    repo.commit("cart", {"cart/main.py": "a = 1\n", "cart/x.yaml": "limit: 1\n"})
    repo.commit("more", {"cart/y.yaml": "limit: 1\n"})
    found = GitSource(repo.path).changes(ALL)
    assert [(one.service, one.first) for one in found] == [
        ("pay", True),
        ("cart", True),
        ("cart", False),
    ]
    assert all(one.diff == {} for one in found)


def test_only_the_window_counts_ends_included(repo: Repo) -> None:
    for number in range(4):
        repo.commit(f"c{number}", {"a": str(number)})
    found = GitSource(repo.path).changes(Window(START + 120, START + 180))
    assert [one.text.split()[0] for one in found] == ["c1", "c2"]


def test_a_merge_is_one_change_when_it_was_merged(repo: Repo) -> None:
    repo.commit("base", {"api/x.env": "LIMIT=1\n"})
    repo.run("checkout", "-q", "-b", "side")
    repo.commit("on the side", {"api/x.env": "LIMIT=2\n"})
    repo.run("checkout", "-q", "main")
    repo.now += 600
    repo.run("merge", "-q", "--no-ff", "--no-gpg-sign", "-m", "Merge side", "side")
    _, merge = GitSource(repo.path).changes(ALL)
    assert merge.text.startswith("Merge side")
    assert merge.at == repo.now
    assert merge.diff == {"LIMIT": (1, 2)}


def test_tags_are_changes_of_the_service_they_name(repo: Repo) -> None:
    repo.commit("base", {"a": "1"})
    repo.now += 50
    repo.run("tag", "-m", "release it", "services/pay/v1.4.0")
    repo.run("tag", "v2")
    tags = [one for one in GitSource(repo.path).changes(ALL) if one.kind == "tag"]
    assert {(one.service, one.name, one.at) for one in tags} == {
        ("pay", "services/pay/v1.4.0", START + 110.0),
        ("shop", "v2", START + 60.0),
    }


def test_a_service_is_known_by_its_name_in_the_paths(repo: Repo) -> None:
    repo.commit("a", {"services/go/pay/x.go": "1"})
    repo.commit("b", {"services/ledger/x.go": "1"})
    repo.commit("c", {"services/go/pay/x.go": "2", "services/ledger/x.go": "2"})
    repo.commit("d", {"README": "2"})
    found = GitSource(repo.path, lambda: ["pay", "mail"]).changes(ALL)
    assert [one.service for one in found] == ["pay", "ledger", "pay", "shop"]


def test_of_a_folder_inside_a_repository_only_its_own_changes_count(repo: Repo) -> None:
    repo.commit("first", {"api/x.yaml": "pool: 4\n", "web/x.yaml": "pool: 4\n"})
    repo.commit("web", {"web/x.yaml": "pool: 5\n"})
    mine = repo.commit("both", {"api/x.yaml": "pool: 9\n", "web/x.yaml": "pool: 6\n"})
    repo.run("tag", "web-v2")
    repo.run("tag", "api-v2")
    repo.run("checkout", "-q", "-b", "side", "HEAD~1")
    repo.commit("in a branch", {"api/y.yaml": "a: 1\n"})
    repo.run("checkout", "-q", "main")
    repo.now += 60
    repo.run("merge", "-q", "--no-ff", "--no-gpg-sign", "-m", "merged", "side")
    source = GitSource(repo.path / "api")
    found = source.changes(ALL)
    commits = [one for one in found if one.kind == "commit"]
    assert [one.text.partition("\n")[0] for one in commits] == ["first", "both", "merged"]
    assert commits[1].name == mine
    assert commits[1].diff == {"pool": ("4", "9")} or commits[1].diff == {"pool": (4, 9)}
    assert "web/" not in commits[1].patch
    assert "+a: 1" in commits[2].patch
    assert [one.name for one in found if one.kind == "tag"] == ["api-v2"]
    assert any("only changes below api/" in one.why for one in source.unseen)
    assert not GitSource(repo.path).unseen


def test_a_bare_repository_is_read_as_well(repo: Repo, tmp_path: Path) -> None:
    repo.commit("base", {"api/a": "1"})
    repo.run("clone", "-q", "--bare", str(repo.path), str(tmp_path / "copy.git"))
    (found,) = GitSource(tmp_path / "copy.git").changes(ALL)
    assert found.service == "api"


@pytest.mark.parametrize("kind", ["none", "file", "gone", "empty"])
def test_what_is_no_repository_is_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "none":
        path.mkdir()
    elif kind == "file":
        path.write_text("")
    elif kind == "empty":
        Repo(path)
    said = {"none": "no Git repository", "empty": "has no commit yet"}.get(kind, "no such folder")
    with pytest.raises(SourceError, match=said) as caught:
        GitSource(path)
    assert "\n" not in str(caught.value)


def test_nothing_that_a_repository_configures_is_run(repo: Repo, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    repo.commit("base", {"a.txt": "1", ".gitattributes": "*.txt diff=x filter=x\n"})
    for key in ("core.pager", "diff.external", "diff.x.textconv", "diff.x.command", "gpg.program",
                "core.fsmonitor", "filter.x.clean", "filter.x.smudge", "core.editor",
                "pager.log", "core.sshCommand"):  # fmt: skip
        repo.run("config", key, str(trap))
    repo.run("config", "log.showSignature", "true")
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).symlink_to(trap)
    (repo.path / "a.txt").write_text("2")
    subprocess.run(["git", "-C", str(repo.path), "-c", "filter.x.clean=", "-c", "core.fsmonitor=",
                    "-c", "core.hooksPath=/dev/null", "-c", "user.name=n", "-c", "user.email=e",
                    "commit", "-qam", "two"], check=True)  # fmt: skip
    assert not (tmp_path / "sprung").exists()
    changes = GitSource(repo.path).changes(Window(START, 4_000_000_000))
    assert len(changes) == 2
    assert "+2" in changes[-1].patch
    assert not (tmp_path / "sprung").exists()


def test_variables_that_lead_git_elsewhere_are_not_followed(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("mine", {"a": "1"})
    other = Repo(tmp_path / "other")
    other.commit("not mine", {"a": "1"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    (found,) = GitSource(repo.path).changes(ALL)
    assert found.text.startswith("mine")


def test_many_commits_are_bounded_and_the_rest_is_said(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "MOST_COMMITS", 5)
    monkeypatch.setattr(git, "MOST_DIFFS", 2)
    for number in range(8):
        repo.commit(f"c{number}", {"a.env": f"N={number}\n"})
    source = GitSource(repo.path)
    found = source.changes(ALL)
    assert [one.text.split()[0] for one in found] == ["c3", "c4", "c5", "c6", "c7"]
    assert [bool(one.diff) for one in found] == [False, False, False, True, True]
    assert {one.why.partition(" (")[0]: one.count for one in source.unseen} == {
        "over the newest 5 of the window; there are more": 1,
        "diffs not read": 3,
    }


def test_one_huge_commit_hides_no_other(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_DIFF", 10_000)
    repo.commit("base", {"a.env": "N=1\n", "big": "x\n"})
    repo.commit("huge", {"big": "y\n" * 100_000})
    repo.commit("small", {"a.env": "N=2\n"})
    assert GitSource(repo.path).changes(ALL)[-1].diff == {"N": (1, 2)}


def test_odd_messages_and_names_do_no_harm(repo: Repo) -> None:
    repo.commit("base", {"a": "1"})
    text = "x\x01" + "f" * 40 + "\x02170\x02--output=/tmp/x\x02\n\nüñí \x02"
    repo.commit(text, {"dienst-ü/a b\tc.env": "N=1\n"})
    found = GitSource(repo.path).changes(ALL)
    assert len(found) >= 1
    assert found[0].text.startswith("base")


@pytest.mark.parametrize(
    ("name", "old", "new", "want"),
    [
        ("a.yaml", "  pool_size: 4", "  pool_size: 40", {"pool_size": (4, 40)}),
        ("a.json", '  "timeout": 1.5,', '  "timeout": 15,', {"timeout": (1.5, 15)}),
        (".env", "export URL=http://a:1/x", "export URL=http://b:1/x",
         {"URL": ("http://a:1/x", "http://b:1/x")}),
        ("x.properties", "a.b=true", "a.b=false", {"a.b": (True, False)}),
        ("Dockerfile", "ENV WORKERS=4", "ENV WORKERS=1", {"WORKERS": (4, 1)}),
        ("VERSION", "v1.4.0", "v1.5.0", {"VERSION": ("v1.4.0", "v1.5.0")}),
        ("a.toml", "x = 1", "", {"x": (1, None)}),
        ("main.py", "pool = 4", "pool = 40", {}),
        ("a.yaml", "key: 1_000", "key: nan", {"key": ("1_000", "nan")}),
    ],
)  # fmt: skip
def test_settings_are_read_from_the_lines_of_a_diff(name, old, new, want) -> None:
    lines = [f"diff --git a/{name} b/{name}", "@@ -1 +1 @@", f"-{old}"] + (
        [f"+{new}"] if new else []
    )
    assert config_diff("\n".join(lines)) == want


def test_in_lists_of_name_and_value_the_name_is_the_key() -> None:
    diff = """diff --git a/k.yaml b/k.yaml
@@ -1,5 +1,5 @@
 env:
   - name: POOL_SIZE
-    value: "4"
+    value: "40"
   - name: MODE
-    value: safe
+    value: fast
"""
    assert config_diff(diff) == {"POOL_SIZE": (4, 40), "MODE": ("safe", "fast")}


def test_a_key_that_cannot_be_paired_is_left_out() -> None:
    diff = (
        "diff --git a/k.yaml b/k.yaml\n-limit: 1\n-limit: 2\n+limit: 3\n+limit: 4\n-a: 1\n+a: 2\n"
    )
    assert config_diff(diff) == {"a": (1, 2)}
