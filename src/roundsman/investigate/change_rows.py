"""Changes as list_deploys returns them: a deploy together with the commit it ships, and what its
diff could bring about."""

from __future__ import annotations

from collections import Counter
from collections.abc import MutableMapping, Sequence
from functools import partial
from typing import Any

from roundsman.analysis.effects import effects, named_in
from roundsman.analysis.harmless import harmless
from roundsman.analysis.patches import Patch, parse_patch
from roundsman.investigate.steps import attempt
from roundsman.sources import Change
from roundsman.sources.times import iso

_NAMES, _LINES, _EFFECTS = 14, 6, 5
_TEXT, _LINE = 220, 110
#: a name that more changes touch than this tells none of them from the others
_COMMON = 2


def _same(left: str, right: str) -> bool:
    short = min(len(left), len(right))
    return short >= 7 and left[:short] == right[:short]


def _shipped(change: Change, commits: Sequence[Change]) -> Change | None:
    if change.kind == "commit" or not change.commit:
        return None
    return next((one for one in commits if _same(one.commit, change.commit)), None)


def change_rows(
    changes: Sequence[Change],
    known: Sequence[Change],
    broken: MutableMapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of these changes, newest first.

    `known` are all changes there are, these among them: a commit some deploy ships is told with the deploy
    and has no row of its own. One whose diff cannot be read keeps its row; why is put into `broken`.
    """
    lost: MutableMapping[str, str] = {} if broken is None else broken
    commits = [one for one in known if one.kind == "commit"]
    deployed = {id(shipped) for one in known if (shipped := _shipped(one, commits)) is not None}
    none = Patch((), (), (), ())
    patches = {
        id(one): attempt(lost, f"the diff of {one.name}", partial(parse_patch, one.patch)) or none
        for one in known
        if one.patch
    }
    touched: Counter[str] = Counter()
    for patch in patches.values():
        touched.update(named_in(patch))
    any_deploy = any(one.kind == "deploy" for one in known)
    out = []
    for one in reversed(changes):
        if id(one) in deployed:
            continue
        commit = _shipped(one, commits) or (one if one.kind == "commit" else None)
        patch = patches.get(id(commit)) or patches.get(id(one)) or none
        row: dict[str, Any] = {
            "at": iso(one.at),
            "kind": one.kind,
            "service": one.service or (commit.service if commit else ""),
            "name": one.name,
            "diff": {key: list(pair) for key, pair in list(one.diff.items())[:12]},
            "text": " ".join((commit or one).text.split())[:_TEXT],
        }
        if commit is not None and commit is not one:
            row["commit"] = commit.name
        if one.kind == "commit" and any_deploy:
            row["deployed"] = False
        if one.first:
            row["first"] = True
        reading = partial(_reading, one, commit, patch, touched)
        row |= attempt(lost, f"what {one.name} can bring about", reading) or {}
        out.append(row)
    return out


def _reading(
    change: Change, commit: Change | None, patch: Patch, touched: Counter[str]
) -> dict[str, Any]:
    out: dict[str, Any] = {"read": True} if patch.changed or change.diff else {}
    found = effects(patch, change.diff)
    if found:
        out["effects"] = [
            {"what": one.kind, "can": list(one.explains), "line": one.line}
            for one in found[:_EFFECTS]
        ]
    elif why := harmless(patch, commit.text if commit else change.text):
        out["cannot"] = why
    elif change.diff and all(old is None and not new for old, new in change.diff.values()):
        out["cannot"] = "sets to off what was not set before"
    rare = [name for name in named_in(patch) if touched[name] <= _COMMON]
    rare += [name for one in found for name in one.names]
    if rare:
        # code says more than prose: names with an inner capital, an underscore or a dot first
        ranked = sorted(set(rare), key=lambda n: (n.islower() and n.isalpha(), -len(n), n))
        out["names"] = ranked[:_NAMES]
    if found and patch.changed:
        lines = [f"-{line.strip()}" for line in patch.removed]
        lines += [f"+{line.strip()}" for line in patch.added]
        out["lines"] = [line[:_LINE] for line in lines[:_LINES]]
    return out
