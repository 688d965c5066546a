"""RootCauseBench: alert, metrics, logs, traces, commits with diffs, deploys and flags, a folder a case."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.rca.cases import Case, Truth

#: the set's own summary of logs and its status page are not telemetry an investigator collects
_FILES = ("alert.json", "metrics.csv", "logs.ndjson", "traces.json")


def read(cases: Path, truth: Path) -> list[Case]:
    """One case a folder; `truth` is the JSON with the answers by folder name."""
    answers = json.loads(truth.read_text(encoding="utf-8"))
    out = []
    for folder in sorted(one for one in cases.iterdir() if (one / "alert.json").is_file()):
        known = answers[folder.name]
        guilty = str(known["root_cause_commit"])
        deploys = json.loads((folder / "context" / "deploys.json").read_text(encoding="utf-8"))
        versions = {str(one.get("commit_sha")): str(one.get("version") or "") for one in deploys}
        out.append(
            Case(
                folder.name,
                Truth(
                    services=(str(known["first_failing_service"]),),
                    changes=() if guilty == "none" else _names(guilty, versions),
                    judged_by_change=True,
                    first_failing=True,
                    decoys=tuple(
                        name
                        for sha in known["decoy_deploy_commits"]
                        for name in _names(str(sha), versions)
                    ),
                ),
                _writer(folder),
                kind="no commit" if guilty == "none" else "commit",
            )
        )
    return out


def _names(sha: str, versions: dict[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, (sha, versions.get(sha, ""))))


def _writer(folder: Path) -> Callable[[Path], None]:
    def write(target: Path) -> None:
        for name in _FILES:
            if (folder / name).is_file():
                shutil.copyfile(folder / name, target / name)
        shutil.copytree(folder / "context", target / "context")

    return write
