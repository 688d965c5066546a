"""Is a finding new? `python -m benchmarks.findings [--pairs PATH] [--json] [--show]`

Pairs of findings that people or published ground truths call the same or different, from
`../shared/data/corpora/dedupe_pairs.jsonl` when it is there. Each pair is asked in both orders, as a loop
would that holds the one when the other comes. Precision: of what is taken for a repeat, the share that is
the same. Recall: of what is the same, the share that is taken for a repeat. `possible` counts pairs that
are marked as possible duplicates and merged with nothing. Real and invented pairs apart. Beside it the
reference rule (case and outer blanks) and overlap of words at 0.6.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roundsman.loop.meaning import Said

_PLACES = [parent / "shared" / "data" / "corpora" for parent in Path(__file__).parents[1:]]
PAIRS = next((p for p in _PLACES if p.is_dir()), _PLACES[1]) / "dedupe_pairs.jsonl"

Same = Callable[[str, str], bool]


def by_meaning(held: str, said: str) -> bool:
    """Numbers, names and times decide (what `default` does)."""
    return Said(held).says(said)


def by_reference(held: str, said: str) -> bool:
    """Equal but for case and outer blanks (what `baseline` does)."""
    return held.strip().casefold() == said.strip().casefold()


def by_words(held: str, said: str) -> bool:
    """At least 0.6 of all words in common."""
    left, right = set(held.casefold().split()), set(said.casefold().split())
    return bool(left | right) and len(left & right) / len(left | right) >= 0.6


RULES: dict[str, Same] = {"meaning": by_meaning, "reference": by_reference, "words": by_words}


def _equal(pair: dict[str, Any]) -> bool:
    return str(pair["label"]).startswith("same")


def _possible(pair: dict[str, Any], same: Same) -> bool:
    """Marked, and not merged, in the order it is given."""
    if same is not by_meaning:
        return False
    said = Said(pair["a"])
    return not said.says(pair["b"]) and said.resembles(pair["b"])


def measure(pairs: list[dict[str, Any]], same: Same) -> dict[str, Any]:
    """Counts, precision and recall of "same", each pair in both orders."""
    hit = false = missed = 0
    wrong: list[str] = []
    for pair in pairs:
        equal = _equal(pair)
        for held, said in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            taken = same(held, said)
            hit += taken and equal
            false += taken and not equal
            missed += equal and not taken
            if taken != equal and str(pair["id"]) not in wrong:
                wrong.append(str(pair["id"]))
    return {
        "pairs": len(pairs),
        "same": sum(map(_equal, pairs)),
        "precision": round(hit / (hit + false), 3) if hit + false else None,
        "recall": round(hit / (hit + missed), 3) if hit + missed else None,
        "merged wrongly": false,
        "possible": {
            "same": sum(_possible(pair, same) for pair in pairs if _equal(pair)),
            "different": sum(_possible(pair, same) for pair in pairs if not _equal(pair)),
        },
        "wrong": wrong,
    }


def main() -> int:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.findings", description=__doc__)
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="the pairs that are told wrongly")
    options = parser.parse_args()
    if not options.pairs.is_file():
        print(f"skipped: {options.pairs} is not there", file=sys.stderr)
        return 0
    pairs = [json.loads(line) for line in options.pairs.read_text(encoding="utf-8").splitlines()]
    groups = {
        "real": [pair for pair in pairs if str(pair["origin"]).startswith("real")],
        "invented": [pair for pair in pairs if not str(pair["origin"]).startswith("real")],
    }
    found = {
        origin: {name: measure(group, rule) for name, rule in RULES.items()}
        for origin, group in groups.items()
    }
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    print(
        f"{'':10} {'rule':10} pairs  same  precision  recall  merged wrongly  possible (same, different)"
    )
    for origin, rules in found.items():
        for name, row in rules.items():
            extra = "{same}, {different}".format(**row["possible"])
            numbers = f"{row['pairs']:5} {row['same']:5}  {row['precision'] or 0:9.2f}"
            print(
                f"{origin:10} {name:10} {numbers}  {row['recall']:6.2f}  {row['merged wrongly']:14}  {extra}"
            )
    if options.show:
        texts = {str(pair["id"]): pair for pair in pairs}
        for origin in found:
            for one in found[origin]["meaning"]["wrong"]:
                pair = texts[one]
                print(f"{one} is {pair['label']}: {pair['a']!r} / {pair['b']!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
