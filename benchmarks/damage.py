"""Broken answers with known truth: one seeded generator a class of damage.

A generator takes a source of chance and gives `Case`: the text, the findings that must come out of
it and whether it says done. Findings are invented and full of what makes reading hard: quotes,
braces, fences, tags and escapes inside statements.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_THINGS = [
    "cart-api",
    "orders-db",
    "node-7",
    "the pool",
    "v2.4.1",
    "TLS",
    "queue lag",
    "größe",
    "磁盘",
    "🚨 p99",
]
_DID = [
    "is full",
    "rose",
    "dropped",
    "refuses connections",
    "restarted",
    "was redeployed",
    "timed out",
]
_FACTS = [
    "at 10:07",
    "to 18 %",
    "from 50 to 20",
    "by 1,024 MB",
    "x3",
    "(5 of 7)",
    "at 2026-01-05T10:00:00Z",
]
_HARD = [
    'said "too many clients"', 'for key "a", "b"', "while {retry: 3}", "after [1, 2]", "C:\\data\\new",
    "path /var/lib\\n", "it's the pods' limit", "line one\nline two", "tab\there", "```json", "</think>",
    "// see above", "# 3", "a, b; c: d", "{'x': 1}", "<tool_call>", "null", "50%", "caf\u00e9",
    "\u201cquoted\u201d",
    'ends with "', "true", "\\", "a\\", "\u2019s", "key: value,", "}", "]", '"', "'", "\u0007bell", "/* x */",
]  # fmt: skip
_EASY = [h for h in _HARD if not any(mark in h for mark in "\"'\\\n\t\u201c\u201d\u2019\u0007")]


@dataclass(frozen=True, slots=True)
class Case:
    """A text and what must come out of it: (statement, evidence, extra) of each finding, done."""

    text: Any
    findings: list[dict[str, Any]]
    done: bool
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


Maker = Callable[[random.Random], Case]
CLASSES: dict[str, tuple[Maker, bool]] = {}
"""Name -> (generator, whether a person could recover all of it)."""


def _class(name: str, recoverable: bool = True) -> Callable[[Maker], Maker]:
    def add(maker: Maker) -> Maker:
        CLASSES[name] = (maker, recoverable)
        return maker

    return add


def statement(rng: random.Random, hard: list[str]) -> str:
    """An invented statement; half of them hold something hard."""
    words = [rng.choice(_THINGS), rng.choice(_DID), rng.choice(_FACTS)]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(hard))
    return " ".join(words).strip()


def truth(rng: random.Random, hard: list[str] = _HARD, least: int = 0) -> dict[str, Any]:
    """An answer as it should have been written."""
    findings = []
    for _ in range(rng.randint(least, 4)):
        one: dict[str, Any] = {"statement": statement(rng, hard)}
        if rng.random() < 0.8:
            one["evidence"] = [f"a{rng.randint(1, 30)}" for _ in range(rng.randint(0, 3))]
        if rng.random() < 0.5:
            one["service"] = rng.choice(_THINGS)
        if rng.random() < 0.3:
            one["value"] = rng.choice(
                [0, 17, -3, 0.179, 5.0, 1e3, True, False, None, [1, [2]], {"a": {}}]
            )
        if rng.random() < 0.2:
            one = dict(reversed(one.items()))
        findings.append(one)
    return {"findings": findings, "done": rng.random() < 0.5}


def _dump(rng: random.Random, value: Any) -> str:
    indent = rng.choice((None, None, 1, 2, 4))
    ascii_ = rng.random() < 0.4
    separators = (",", ":") if rng.random() < 0.2 and indent is None else None
    return json.dumps(value, indent=indent, ensure_ascii=ascii_, separators=separators)


def _plain(rng: random.Random, change: Callable[[str], Any], hard: list[str] = _HARD) -> Case:
    answer = truth(rng, hard)
    return Case(change(_dump(rng, answer)), answer["findings"], answer["done"])


def _outside(text: str, change: Callable[[str, str], str]) -> str:
    """Change what stands between strings; `change` gets a piece and the character after it."""
    pieces, at, inside, start = list[str](), 0, False, 0
    while at < len(text):
        if inside:
            if text[at] == "\\":
                at += 1
            elif text[at] == '"':
                inside = False
                pieces.append(text[start : at + 1])
                start = at + 1
        elif text[at] == '"':
            pieces.append(change(text[start:at], '"'))
            start, inside = at, True
        at += 1
    pieces.append(change(text[start:], ""))
    return "".join(pieces)


@_class("as it should be")
def _clean(rng: random.Random) -> Case:
    return _plain(rng, str)


@_class("fence")
def _fence(rng: random.Random) -> Case:
    lead = rng.choice(
        ["```json\n", "```\n", "Here it is:\n```json\n", "```JSON\r\n", "~~~json\n", "```python\n"]
    )
    end = rng.choice(["\n```", "\n```\n", "```", "", "\n~~~", "\n```\nLet me know [1]."])
    return _plain(rng, lambda text: lead + text + end)


_PROSE = [
    "", "Sure! ", "I looked at {service} and [metrics].\n", "The set {a, b} is empty.\n",
    "It's done: ", "As (x) {y}:\n", 'Format is {"findings": [...], "done": bool}.\n',
    "See [the log](http://x/y?a={b}).\n", 'Don\'t use "{".\n', "Call it {id: 7}.\n", "f\"{n:.2f}\" ",
]  # fmt: skip


@_class("prose around it")
def _prose(rng: random.Random) -> Case:
    lead = "".join(rng.sample(_PROSE, rng.randint(1, 3)))
    tail = rng.choice(
        [
            "",
            ".",
            "\nDetails in [3] and {see notes}.",
            " That's all {really}",
            "\n\n- a\n- b",
            "\n{}",
        ]
    )
    return _plain(rng, lambda text: lead + "\n" + text + tail)


@_class("thinking with braces")
def _thinking(rng: random.Random) -> Case:
    draft = _dump(rng, truth(rng))
    thought = rng.choice(
        [
            'maybe {"findings": "?"} is right', draft, "{" * rng.randint(1, 9),
            draft[: len(draft) // 2], '"', "it's {x",
        ]
    )  # fmt: skip
    tag = rng.choice(["think", "thinking", "reasoning", "thought", "Think"])
    lead, end = rng.choice(
        [(f"<{tag}>", f"</{tag}>"), (f"<{tag}>", f"</{tag}>"), ("", f"</{tag}>")]
    )
    # a draft that says </think> itself cannot be told from the end of thinking
    thought = thought.replace("</think>", "")
    return _plain(rng, lambda text: f"{lead}{thought}{end}\n{text}")


@_class("thinking without an answer")
def _thought_only(rng: random.Random) -> Case:
    draft = _dump(rng, truth(rng)).replace("</think>", "")
    after = rng.choice(
        ["</think>", "</think>\n", " but I should check that", "</think> I cannot say."]
    )
    return Case(f"<think>Maybe {draft}{after}", [], False)


@_class("several objects")
def _several(rng: random.Random) -> Case:
    drafts = [_dump(rng, truth(rng)) for _ in range(rng.randint(1, 3))]
    other = rng.choice(["", '{"status": "continue"}\n', '\n{"a": [1]}'])
    tail = rng.choice(["", "", '\n{"status": "ok"}', "\n{}", " [1]"])
    between = rng.choice(["\n", "\nRound 2: ", " then ", ""])
    return _plain(rng, lambda text: other + between.join([*drafts, text]) + tail)


@_class("trailing commas")
def _commas(rng: random.Random) -> Case:
    def change(piece: str, _: str) -> str:
        out = []
        for mark in piece:
            if mark in "]}" and rng.random() < 0.6:
                out.append(rng.choice([",", ", ", ",\n"]))
            out.append(mark)
        return "".join(out)

    return _plain(
        rng, lambda text: _outside(text, change).replace("[,", "[").replace("{,", "{"), _EASY
    )


@_class("Python literals")
def _python(rng: random.Random) -> Case:
    answer = truth(rng)
    return Case(repr(answer), answer["findings"], answer["done"])


@_class("single quotes")
def _single(rng: random.Random) -> Case:
    def change(text: str) -> str:
        out, at = list[str](), 0
        while at < len(text):
            if text[at] == "\\":
                out.append(text[at + 1] if text[at + 1] == '"' else text[at : at + 2])
                at += 2
                continue
            out.append({'"': "'", "'": "\\'"}.get(text[at], text[at]))
            at += 1
        return "".join(out)

    return _plain(rng, change)


@_class("single quotes, apostrophes as they are")
def _apostrophes(rng: random.Random) -> Case:
    hard = [*_EASY, "it's", "the node's disk", "doesn't answer"]
    return _plain(rng, lambda text: text.replace('"', "'"), hard)


@_class("smart quotes")
def _smart(rng: random.Random) -> Case:
    kind = rng.random()

    def change(text: str) -> str:
        opening, out = True, list[str]()
        for at, mark in enumerate(text):
            escaped = mark == '"' and text[at - 1] == "\\"
            if mark == '"' and not escaped:
                out.append(("“" if opening else "”") if kind < 0.7 else "”")
                opening = not opening
            else:
                out.append(mark)
        return "".join(out)

    hard = [h for h in _HARD if "\u201c" not in h and "\\" not in h]
    return _plain(rng, change, hard)


@_class("raw line breaks and control characters")
def _control(rng: random.Random) -> Case:
    def change(text: str) -> str:
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\u0007", "\u0007")
        return _outside(
            text, lambda piece, _: piece + rng.choice(["", "\x00", "\x1b", "\u200b", "\x0b"])
        )

    hard = [h for h in _HARD if "\\" not in h]
    return _plain(rng, change, hard)


@_class("NaN and infinities")
def _nan(rng: random.Random) -> Case:
    answer = truth(rng, least=1)
    answer["findings"][0]["value"] = "@@"
    word = rng.choice(["NaN", "Infinity", "-Infinity", "nan", "1e999"])
    text = _dump(rng, answer).replace('"@@"', word)
    answer["findings"][0]["value"] = None
    return Case(text, answer["findings"], answer["done"])


@_class("BOM and bytes")
def _bom(rng: random.Random) -> Case:
    kind = rng.randrange(4)
    wrap: list[Callable[[str], Any]] = [
        lambda text: "\ufeff" + text,
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: "\ufeff\u200b ```json\n" + text,
    ]
    return _plain(rng, wrap[kind])


@_class("truncated: every finding that stood complete")
def _truncated(rng: random.Random) -> Case:
    answer = truth(rng, least=1)
    first_done = rng.random() < 0.2
    if first_done:
        answer = {"done": answer["done"], "findings": answer["findings"]}
    indent = rng.choice((None, 2))
    marks = []  # place after each finding
    text = json.dumps(answer, indent=indent, ensure_ascii=False)
    at = text.index("[", text.index('"findings"'))
    decoder = json.JSONDecoder()
    for _ in answer["findings"]:
        start = text.index("{", at)
        _, at = decoder.raw_decode(text, start)
        marks.append(at)
    cut = rng.randrange(text.index("[") + 1, len(text))
    kept = [f for f, end in zip(answer["findings"], marks, strict=True) if end <= cut]
    said = text[:cut]
    told = not first_done and f'"done": {json.dumps(answer["done"])}' in said[marks[-1] :]
    lead = rng.choice(["", "```json\n", "Here: "])
    return Case(lead + said, kept, answer["done"] and (first_done or told))


_CALLS: list[Callable[[str, dict[str, Any]], str]] = [
    lambda n, a: json.dumps({"name": n, "arguments": a}),
    lambda n, a: "```json\n" + json.dumps({"name": n, "arguments": a}, indent=2) + "\n```",
    lambda n, a: f"<tool_call>\n{json.dumps({'name': n, 'arguments': a})}\n</tool_call>",
    lambda n, a: json.dumps({"tool": n, "args": a}),
    lambda n, a: "[TOOL_CALLS] " + json.dumps([{"name": n, "arguments": a}]),
    lambda n, a: json.dumps(
        {"tool_calls": [{"function": {"name": n, "arguments": json.dumps(a)}}]}
    ),
    lambda n, a: f"Thought: look.\nAction: {n}\nAction Input: {json.dumps(a)}",
    lambda n, a: json.dumps({"action": n, "action_input": a}),
    lambda n, a: f"```tool_code\nprint({n}({', '.join(f'{k}={v!r}' for k, v in a.items())}))\n```",
    lambda n, a: f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})",
    lambda n, a: f"<function={n}>{json.dumps(a)}</function>",
    lambda n, a: f"<response>\n{json.dumps({'name': n, 'parameters': a}, indent=1)}\n```",
    lambda n, a: repr({"name": n, "arguments": a}),
]


@_class("tool calls printed as text")
def _tool_call(rng: random.Random) -> Case:
    name = rng.choice(["query_logs", "query_metrics", "list_deploys"])
    args: dict[str, Any] = {
        "service": rng.choice(["cart-api", "orders-db"]),
        "minutes": rng.randint(1, 99),
    }
    if rng.random() < 0.3:
        args["pattern"] = "findings done"
    return Case(rng.choice(_CALLS)(name, args), [], False, [(name, args)])


@_class("numbers and truth as strings")
def _as_text(rng: random.Random) -> Case:
    answer = truth(rng)
    for one in answer["findings"]:
        one["value"] = str(rng.choice([5, "0.18", "7.9G"]))
    said = {
        **answer,
        "done": rng.choice(["true", "True"]) if answer["done"] else rng.choice(["false", "no"]),
    }
    return Case(_dump(rng, said), answer["findings"], answer["done"])


@_class("findings as one string or as strings")
def _strings(rng: random.Random) -> Case:
    answer = truth(rng, least=1)
    said: Any = [one["statement"] for one in answer["findings"]]
    findings = [{"statement": text} for text in said]
    if rng.random() < 0.4:
        said, findings = said[0], findings[:1]
    return Case(_dump(rng, {"findings": said, "done": answer["done"]}), findings, answer["done"])


@_class("findings under other names")
def _names(rng: random.Random) -> Case:
    answer = truth(rng, least=1)
    name = rng.choice(["finding", "text", "description", "message", "summary"])
    said: Any = [
        {name if k == "statement" else k: v for k, v in f.items()} for f in answer["findings"]
    ]
    kind = rng.random()
    if kind < 0.2:
        said, answer["findings"] = said[0], answer["findings"][:1]
    elif kind < 0.3:
        said = {str(n + 1): one for n, one in enumerate(said)}
    elif kind < 0.4:
        said = json.dumps(said)
    whole: Any = {"findings": said, "done": answer["done"]}
    if rng.random() < 0.3:
        whole = rng.choice([[whole], {"answer": whole}, {"response": whole}])
    return Case(_dump(rng, whole), answer["findings"], answer["done"])


@_class("duplicate keys: the last, as in JSON")
def _duplicate(rng: random.Random) -> Case:
    first, answer = truth(rng), truth(rng)
    inner = [_dump(rng, one)[1:-1].strip() for one in (first, answer)]
    return Case("{" + ", ".join(inner) + "}", answer["findings"], answer["done"])


@_class("comments")
def _comments(rng: random.Random) -> Case:
    def change(piece: str, _: str) -> str:
        return piece.replace("\n", rng.choice(["\n", " // note\n", " # note\n", " /* n */\n"]), 1)

    answer = truth(rng, _EASY)
    text = _outside(json.dumps(answer, indent=2, ensure_ascii=False), change)
    return Case(text, answer["findings"], answer["done"])


@_class("names without quotes")
def _unquoted(rng: random.Random) -> Case:
    answer = truth(rng, _EASY)
    text = json.dumps(answer, ensure_ascii=False)
    for name in ("findings", "done", "statement", "evidence", "service", "value"):
        text = text.replace(f'"{name}": ', f"{name}: ")
    return Case(text, answer["findings"], answer["done"])


@_class("missing commas")
def _no_commas(rng: random.Random) -> Case:
    answer = truth(rng, _EASY)
    text = json.dumps(answer, indent=2, ensure_ascii=False)

    def change(piece: str, after: str) -> str:
        return piece.replace(",\n", "\n") if rng.random() < 0.5 and after == '"' else piece

    return Case(_outside(text, change), answer["findings"], answer["done"])


@_class("missing last brackets")
def _unclosed(rng: random.Random) -> Case:
    answer = truth(rng)
    text = json.dumps(answer, ensure_ascii=False)[:-1]
    return Case(text + rng.choice(["", "\n", "\n```"]), answer["findings"], answer["done"])


@_class("quotes inside without escapes")
def _inner(rng: random.Random) -> Case:
    hard = [*_EASY, 'said "too many clients"', 'key "a" of "b"', 'the "pool", waiting']
    return _plain(rng, lambda text: text.replace('\\"', '"'), hard)


@_class("wrong escapes")
def _escapes(rng: random.Random) -> Case:
    hard = [*_EASY, "it's", "the node's disk"]
    return _plain(rng, lambda text: text.replace("'", "\\'").replace("/", "\\/"), hard)


@_class("answer as a JSON string")
def _encoded(rng: random.Random) -> Case:
    return _plain(rng, lambda text: json.dumps(text, ensure_ascii=rng.random() < 0.5))


@_class("placeholders instead of values")
def _placeholder(rng: random.Random) -> Case:
    text = rng.choice(
        [
            '{"findings": [...], "done": bool}',
            '{"findings": [{"statement": str, "evidence": [evidence ids]}], "done": bool}',
            '{"findings": [{"statement": "...", "evidence": ["a1"]}], "done": true or false}',
            "{findings: [...]}",
            '{"findings": ["…"], "done": false}',
        ]
    )
    return Case(rng.choice(["", "Reply with JSON "]) + text, [], False)


@_class("several at once")
def _together(rng: random.Random) -> Case:
    answer = truth(rng, [*_EASY, "it's"])
    kind = rng.random()
    text = repr(answer) if kind < 0.4 else json.dumps(answer, indent=2, ensure_ascii=False)
    if kind >= 0.4:
        text = text.replace("]\n", "],\n").replace("}\n", "},\n")
    lead = rng.choice(
        [
            "",
            "Sure, {name}! ",
            "<think>it's {x</think>",
            '<thinking>{"findings": ["no"]}</thinking>',
        ]
    )
    fence = rng.choice([("```json\n", "\n```"), ("```\n", ""), ("", "")])
    return Case(lead + fence[0] + text + fence[1], answer["findings"], answer["done"])


@_class("deep nesting")
def _deep(rng: random.Random) -> Case:
    depth = rng.choice((50, 400, 5_000))
    deep = rng.choice([("[", "]"), ('{"a":', "}")])
    answer = truth(rng, least=1)
    text = json.dumps({"findings": answer["findings"], "done": answer["done"]}, ensure_ascii=False)
    nest = deep[0] * depth + ("1" if deep[0] != "[" else "") + deep[1] * depth
    where = rng.random()
    text = f"{nest}\n{text}" if where < 0.5 else text[:-1] + f', "note": {nest}}}'
    return Case(text, answer["findings"], answer["done"])


@_class("noise: anything may be lost", recoverable=False)
def _noise(rng: random.Random) -> Case:
    answer = truth(rng, least=1)
    marks = list(_dump(rng, answer))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(marks))
        act = rng.randrange(3)
        if act == 0:
            del marks[at]
        elif act == 1:
            marks.insert(at, rng.choice("{}[]\",:'\\\n x1"))
        else:
            other = rng.randrange(len(marks))
            marks[at], marks[other] = marks[other], marks[at]
    return Case("".join(marks), answer["findings"], answer["done"])
