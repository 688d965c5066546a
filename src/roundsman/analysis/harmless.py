"""Why a change cannot break a running service, where its lines say so."""

from __future__ import annotations

import re

from roundsman.analysis.effects import effects
from roundsman.analysis.patches import Patch, altered

_PROSE = re.compile(r"\.(?:md|rst|adoc|css|scss|less|sass|svg|png|jpe?g|ico|html?|tmpl|po|woff2?)$")
_STYLE = re.compile(
    r"#[0-9a-fA-F]{3,8}\b|\d(?:px|rem|em|vh|vw)\b|padding|margin|border|font|color|radius|shadow"
)
_TEST = re.compile(
    r"\bt\.(?:Run|Fatal|Error)|func Test|def test_|\bassert|\bexpect\(|\bit\(['\"]|@Test"
)
_VERSION = re.compile(
    r"^\s*[\"']?[\w@./-]+[\"']?\s*(?:[:=~^<>]=?|\s)\s*[\"']?[v^~=<>]*\d+\.\d+[\w.+-]*[\"']?[;,]?\s*(?:h1:\S+)?$"
)
_ONLY_NUMBER = re.compile(r"^\s*v?\d+(?:\.\d+)+\s*$")
_SAYS = re.compile(r"^\s*(?:docs?|test|style|ci)(?:\([\w-]+\))?:", re.IGNORECASE)


def harmless(patch: Patch, text: str = "") -> str:
    """Why a change cannot break a running service, in words; empty when that cannot be said."""
    changed = [line for line in patch.changed if not _ONLY_NUMBER.match(line)]
    if not changed:
        if patch.hunks and any(not _ONLY_NUMBER.match(x) for _, x in patch.hunks[0].lines):
            return "changes comments only"
        said = _SAYS.match(text)
        return "says it changes documentation, tests or format only" if said else ""
    if all(_VERSION.match(line) for line in changed):
        return "changes versions of libraries only"
    if patch.files and all(_PROSE.search(file) for file in patch.files):
        return "changes styles or texts only"
    if sum(bool(_STYLE.search(line)) for line in changed) >= 0.8 * len(changed):
        return "changes styles or texts only"
    if any(_TEST.search(line) for line in changed) and all(
        "test" in file or "spec" in file for file in patch.files
    ):
        return "changes tests only"
    old = {" ".join(line.split()) for line in patch.removed}
    new = {" ".join(line.split()) for line in patch.added}
    same = len(old) > 1 and len(old & new) >= 0.6 * len(old)
    if same and not altered(patch) and not effects(patch):
        return "moves the same statements elsewhere"
    return ""
