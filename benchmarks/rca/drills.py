"""Recorded drills, and any other incident folders with the answer beside them:
`NAME/incident` and `NAME/truth.json`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.rca.cases import Case, Truth


def read(cases: Path, truth: Path) -> list[Case]:
    """Every folder below `cases` that holds an `incident`; the answers stand beside it."""
    out = []
    for folder in sorted(one.parent for one in cases.rglob("incident") if one.is_dir()):
        answer = folder / "truth.json"
        if not answer.is_file():
            answer = truth / folder.relative_to(cases) / "truth.json"
        known = json.loads(answer.read_text(encoding="utf-8"))
        guilty = tuple(str(one) for one in (known.get("change"), known.get("commit")) if one)
        harmless = bool(known.get("harmless"))
        out.append(
            Case(
                str(folder.relative_to(cases)),
                Truth(
                    services=tuple(known.get("services") or filter(None, [known.get("service")])),
                    changes=guilty,
                    judged_by_change=not harmless,
                    decoys=() if harmless else _others(folder / "incident", guilty),
                    healthy=harmless,
                ),
                _writer(folder / "incident"),
                kind="harmless" if harmless else "change" if guilty else "no change",
            )
        )
    return out


def _others(incident: Path, guilty: tuple[str, ...]) -> tuple[str, ...]:
    """Versions and commits of every change but the guilty one."""
    names: list[str] = []
    for file, keys in (("deploys.json", ("version", "commit")), ("commits.json", ("sha",))):
        path = incident / file
        for record in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []:
            names += [str(record[key]) for key in keys if record.get(key)]
    return tuple(name for name in dict.fromkeys(names) if name not in guilty)


def _writer(folder: Path) -> Callable[[Path], None]:
    def write(target: Path) -> None:
        # commits.json holds what the repository does, and can be renamed
        left_out = shutil.ignore_patterns("*.git")
        shutil.copytree(folder, target, dirs_exist_ok=True, ignore=left_out)

    return write
