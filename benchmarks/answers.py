"""How broken answers are read: `python -m benchmarks.answers [--json] [--n 200000] [--reader NAME]`.

Per class of damage (see `benchmarks/damage.py`): exceptions, wrong values (a finding that is not in the
truth, a finding twice, or done that was not said), and the share that came out whole. For noise, where
the truth is open, a value is wrong when its words do not stand in the text. Then the recorded
outputs of models in `../shared/data/corpora`, when they are there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.damage import CLASSES, Case
from roundsman.loop import Answer, read_answer
from roundsman.loop.reading import read_object
from roundsman.loop.tokens import unescape

_PLACES = [parent / "shared" / "data" / "corpora" for parent in Path(__file__).parents[1:]]
CORPORA = next((place for place in _PLACES if place.is_dir()), _PLACES[1])
TOOLS = ("query_logs", "query_metrics", "list_deploys")

Read = Callable[[Any], tuple[list[dict[str, Any]], bool, list[tuple[str, dict[str, Any]]]]]
"""Text -> (findings as (statement, evidence, rest), done, printed calls)."""


def ours(text: Any) -> tuple[list[dict[str, Any]], bool, list[tuple[str, dict[str, Any]]]]:
    """Roundsman's reader."""
    answer = read_answer(text, TOOLS)
    findings = [
        {"statement": c.statement, "evidence": list(c.evidence), **c.extra} for c in answer.claims
    ]
    return findings, answer.done, [(call.name, call.args) for call in answer.calls]


def _findings(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"statement": c.statement, "evidence": list(c.evidence), **c.extra} for c in answer.claims
    ]


def _by(load: Callable[[str], Any]) -> Read:
    """A reader around a library: its object, read as plainly as possible."""

    def read(text: Any) -> tuple[list[dict[str, Any]], bool, list[tuple[str, dict[str, Any]]]]:
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        value = load(text)
        if isinstance(value, list):  # some give every value of the text
            value = next(
                (v for v in reversed(value) if isinstance(v, dict) and "findings" in v), None
            )
        if not isinstance(value, dict):
            return [], False, []
        answer = read_answer(value)  # from here on as ours: only the reading of JSON differs
        return _findings(answer), answer.done, [(call.name, call.args) for call in answer.calls]

    return read


def _naive(text: str) -> Any:
    """First brace to last."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None


_LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "json_repair": lambda m: m.loads,
    "json5": lambda m: m.loads,
    "partial_json_parser": lambda m: m.loads,
    "dirtyjson": lambda m: m.loads,
    "demjson3": lambda m: m.decode,
    "jiter": lambda m: lambda text: m.from_json(text.encode(), partial_mode=True),
}


def reader(name: str) -> Read:
    """The reader of that name; a library is given what stands from the first brace on."""
    if name == "ours":
        return ours
    if name == "naive":
        return _by(_naive)
    load: Any = _LIBRARIES[name](importlib.import_module(name))

    def from_brace(text: str) -> Any:
        if name == "json_repair":  # it looks for objects itself
            return load(text)
        start, end = text.find("{"), text.rfind("}")
        for piece in (text[start : end + 1], text[start:]):
            try:
                return load(piece)
            except RecursionError:
                raise
            except Exception:  # what a library does not read, it refuses by raising: no fault
                continue
        return None

    return _by(from_brace)


@dataclass
class Row:
    """Counts of one class."""

    n: int = 0
    exceptions: int = 0
    wrong: int = 0
    recovered: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)


def check(case: Case, read: Read, noise: bool) -> tuple[str, Any]:
    """(`recovered`, `lost`, `wrong` or `exception`, what was read)."""
    try:
        findings, done, calls = read(case.text)
    except Exception as error:  # counting them is the point
        return "exception", repr(error)
    got = [_form(one) for one in findings]
    said = [_form(one) for one in case.findings]
    if noise:
        text = str(case.text)
        seen = (_letters(text), _letters(unescape(text)))
        strange = [g for g in got if not any(_letters(g["statement"]) in s for s in seen)]
        same = got == said and done == case.done
        return ("wrong" if strange else "recovered" if same else "lost"), got
    rest = list(said)
    for one in got:
        if one not in rest:
            return "wrong", [one, *got]
        rest.remove(one)
    if (done and not case.done) or any(call not in case.calls for call in calls):
        return "wrong", (done, calls)
    whole = got == said and done == case.done and len(calls) == len(case.calls)
    return ("recovered" if whole else "lost"), got


def _letters(text: str) -> str:
    """Letters and digits alone, half characters joined."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(mark for mark in whole if mark.isalnum())


def _form(one: dict[str, Any]) -> dict[str, Any]:
    statement = one.get("statement")
    text = statement.strip() if isinstance(statement, str) else repr(statement)
    evidence = one.get("evidence") or []
    return {**one, "statement": text, "evidence": evidence}


def generated(n: int, read: Read, seed: int = 1, examples: int = 0) -> dict[str, Row]:
    """Rows by class over `n` generated answers in all."""
    each = max(1, n // len(CLASSES))
    rows = {}
    for name, (make, recoverable) in CLASSES.items():
        row = rows[name] = Row()
        rng = random.Random(f"{seed} {name}")
        for _ in range(each):
            case = make(rng)
            verdict, got = check(case, read, not recoverable)
            row.n += 1
            row.exceptions += verdict == "exception"
            row.wrong += verdict == "wrong"
            row.recovered += verdict == "recovered"
            if (
                verdict != "recovered"
                and (recoverable or verdict == "wrong")
                and len(row.examples) < examples
            ):
                row.examples.append({"verdict": verdict, "text": str(case.text), "got": str(got)})
    return rows


def _lines(name: str) -> Iterator[dict[str, Any]]:
    file = CORPORA / name
    if file.exists():
        yield from map(json.loads, file.read_text("utf-8").splitlines())


def recorded() -> dict[str, Any]:
    """What is read of recorded outputs, beside first brace to last."""
    corpus: dict[str, dict[str, int]] = {}
    for line in _lines("json_corpus.jsonl"):
        kind = line["expected_kind"]
        wanted = line["expected"] if kind in ("value", "no object") else None
        group = corpus.setdefault(f"{line['class']}: {kind}", dict.fromkeys(_COLUMNS, 0))
        reading, plain = read_object(line["text"]), _naive(line["text"])
        group["n"] += 1
        if kind in ("value", "no object"):
            group["right"] += reading.value == wanted
            group["naive right"] += plain == wanted
            group["wrong"] += reading.value not in (wanted, None)
        elif kind == "candidates":
            group["right"] += reading.value in line["expected"]
            group["naive right"] += plain in line["expected"]
        elif kind.startswith("repair"):
            group["right"] += reading.complete
            group["said to be cut"] += bool(reading.lost)
    answers = dict.fromkeys(
        ("n", "naive read", "of these read alike", "read beyond naive", "findings"), 0
    )
    for line in _lines("round_answers_local_models.jsonl"):
        answer, plain = read_answer(line["raw"]), _naive(line["raw"])
        answers["n"] += 1
        answers["findings"] += len(answer.claims)
        if isinstance(plain, dict):
            rows = plain.get("findings")
            alike = len(answer.claims) == (len(rows) if isinstance(rows, list) else 0)
            answers["naive read"] += 1
            answers["of these read alike"] += alike and answer.done is (plain.get("done") is True)
        else:
            answers["read beyond naive"] += bool(answer.claims)
    return {"json_corpus": corpus, "round_answers": answers} if answers["n"] else {}


_COLUMNS = ("n", "right", "naive right", "wrong", "said to be cut")


def main() -> None:
    """Measure and print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--n", type=int, default=200_000, help="generated answers in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", default="ours", choices=["ours", "naive", *_LIBRARIES])
    parser.add_argument("--examples", type=int, default=0, help="print so many failures a class")
    options = parser.parse_args()
    began = time.perf_counter()
    rows = generated(options.n, reader(options.reader), options.seed, options.examples)
    seconds = time.perf_counter() - began
    corpora = recorded()
    if options.json:
        data = {
            name: {k: v for k, v in vars(row).items() if k != "examples"}
            for name, row in rows.items()
        }
        print(json.dumps({"generated": data, "seconds": seconds, "recorded": corpora}, indent=1))
        return
    print(f"{'class of damage':<48}{'n':>8}{'exceptions':>12}{'wrong':>8}{'recovered':>11}")
    for name, row in rows.items():
        share = f"{row.recovered / row.n:.1%}"
        print(f"{name:<48}{row.n:>8}{row.exceptions:>12}{row.wrong:>8}{share:>11}")
        for example in row.examples:
            print("   ", example["verdict"], json.dumps(example["text"], ensure_ascii=False))
            print("      ->", example["got"])
    total = [
        sum(getattr(row, key) for row in rows.values()) for key in ("n", "exceptions", "wrong")
    ]
    print(f"{'all':<48}{total[0]:>8}{total[1]:>12}{total[2]:>8}    {seconds:.0f} s")
    if not corpora:
        print(f"recorded outputs skipped: {CORPORA} is not there")
    for name, part in corpora.items():
        print(f"\n{name}")
        for key, value in part.items():
            print(f"  {key:<76} {value if isinstance(value, int) else _cells(value)}")


def _cells(group: dict[str, int]) -> str:
    return "  ".join(f"{key} {value}" for key, value in group.items() if value)


if __name__ == "__main__":
    main()
