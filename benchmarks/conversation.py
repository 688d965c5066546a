"""How well texts are told apart: `python -m benchmarks.conversation [PATH ...] [--json] [--seed N]`.

PATH is JSON lines of `{"text", "label": "clean"|"injected", "source", "attack"}`: detection and false
alarms per source and per attack. Without one, also those of `held_out/`. Then generated secrets and
personal data beside the log lines of the recorded incidents, and the time of the default checks on a turn
of 2,000 characters as a multiple of one pass of one compiled regular expression over it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import string
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from roundsman.guard.checks.base import ENOUGH, Check, weighed, without
from roundsman.guard.checks.injection import Injection
from roundsman.guard.checks.personal import Personal
from roundsman.guard.checks.secrets import Secrets
from roundsman.guard.checks.text import Text
from roundsman.guard.rules.conversation import opened

ROOT = Path(__file__).parents[1]
_PLACES = [parent / "shared" / "data" / "corpora" for parent in Path(__file__).parents[1:]]
CORPUS = next((place for place in _PLACES if place.is_dir()), _PLACES[1]) / "injection.jsonl"
HELD_OUT = Path(__file__).parent / "held_out"
"""Own attacks and clean results, written from the names of the classes before the rules were looked at
again. `seen.jsonl`: rules were then mended with it in view; `unseen.jsonl`: nothing was."""
_LINES = 40_000
Maker = Callable[[random.Random], Iterator[tuple[str, str, str]]]
_HEX, _ALNUM = "0123456789abcdef", string.ascii_letters + string.digits


def injections(paths: list[Path]) -> dict[str, Any]:
    """Detection and false alarms, by source and by attack."""
    found: dict[str, dict[str, list[int]]] = {
        k: defaultdict(lambda: [0, 0]) for k in ("source", "attack")
    }
    kinds: dict[str, int] = defaultdict(int)
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            seen = opened(
                json.dumps({"result": str(row["text"])}, ensure_ascii=False)
            )  # as a result is
            points, hits = weighed(Injection().find(Text(seen)))
            bad = row["label"] != "clean"
            for kind in {h.kind for h in hits} if points >= ENOUGH and bad else ():
                kinds[kind] += 1
            source = str(row.get("source") or path.name).split("/")[0].split(":")[0]
            attack = str(row.get("attack") or "injected").split(":")[0]
            for table, key in (
                ("source", f"{source} ({row['label']})"),
                ("attack", attack if bad else "clean"),
            ):
                found[table][key][0] += points >= ENOUGH
                found[table][key][1] += 1
    return {
        **{k: {name: tuple(n) for name, n in sorted(v.items())} for k, v in found.items()},
        "what gave it away": dict(sorted(kinds.items(), key=lambda k: -k[1])),
    }


def _of(rng: random.Random, alphabet: str, size: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(size))


def secrets(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """(class, secret, text around it): one of each class."""
    upper = string.ascii_uppercase + "234567"
    word = rng.choice(["orders", "billing", "search", "app"])
    tokens = {
        "cloud key": "AKIA" + _of(rng, upper, 16),
        "source host token": rng.choice(["ghp_", "gho_", "ghs_"]) + _of(rng, _ALNUM, 36),
        "source host token 2": "glpat-" + _of(rng, _ALNUM + "_-", 20),
        "chat token": f"xoxb-{_of(rng, string.digits, 12)}-{_of(rng, _ALNUM, 24)}",
        "payment key": "sk_live_" + _of(rng, _ALNUM, 24),
        "map key": "AIza" + _of(rng, _ALNUM + "_-", 35),
        "model key": "sk-" + rng.choice(["", "proj-"]) + _of(rng, _ALNUM, 48),
        "package token": "npm_" + _of(rng, _ALNUM, 36),
        "jwt": f"eyJ{_of(rng, _ALNUM, 30)}.eyJ{_of(rng, _ALNUM, 60)}.{_of(rng, _ALNUM + '_-', 43)}",
        "bot token": f"{_of(rng, '123456789', 10)}:{_of(rng, _ALNUM + '_-', 35)}",
    }
    for kind, token in tokens.items():
        around = rng.choice(
            ["{}", "key={}", "using {} for it", '{{"value": "{}"}}', "X-Key: {}", "url?k={}&x=1"]
        )
        yield kind, token, around.format(token)
    key = "\n".join(_of(rng, _ALNUM + "+/", 64) for _ in range(12))
    name = rng.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
    yield (
        "private key",
        key,
        f"cert:\n-----BEGIN {name}PRIVATE KEY-----\n{key}\n-----END {name}PRIVATE KEY-----\n",
    )
    password = _of(rng, _ALNUM + "!#%*", rng.randint(8, 20)) + rng.choice("aZ9")
    scheme = rng.choice(["postgresql", "mysql", "amqp", "redis", "mongodb+srv", "https"])
    yield (
        "connection string",
        password,
        f"{scheme}://{word}:{password}@db.{word}.internal:5432/{word}",
    )
    yield (
        "connection string 2",
        password,
        f"Server=tcp:db,1433;User ID={word};Password={password};Encrypt=yes",
    )
    yield (
        "named",
        password,
        rng.choice(
            [
                f"DB_PASSWORD={password}",
                f'"password": "{password}"',
                f"password: {password}",
                f"--password={password}",
            ]
        ),
    )
    long = _of(rng, _ALNUM, 32)
    yield (
        "named key",
        long,
        rng.choice([f"API_KEY={long}", f'"client_secret": "{long}"', f"auth_token: {long}"]),
    )
    yield "header", long, f"Authorization: Bearer {long}0"


def people(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """(class, datum, text around it), with right checksums."""
    name = _of(rng, string.ascii_lowercase, rng.randint(3, 9))
    mail = f"{name}.{_of(rng, string.ascii_lowercase, 5)}@{rng.choice(['example.com', 'mail.example.org'])}"
    yield "mail", mail, f"user {mail} logged in"
    first = rng.choice(["4", "51", "55", "37"])
    card = _luhn(first + _of(rng, string.digits, (15 if first == "37" else 16) - len(first) - 1))
    shown = (
        " ".join(card[i : i + 4] for i in range(0, len(card), 4)) if rng.random() < 0.5 else card
    )
    yield "card", shown, f"charged card {shown} ok"
    phone = rng.choice(["+49 30 9{}", "+44 20 79{}", "+1 415 555 {}", "+33 1 42 6{}"])
    shown = phone.format(_of(rng, "23456789", {"+49": 6, "+44": 6, "+1 ": 4, "+33": 5}[phone[:3]]))
    yield "phone", shown, f"call {shown} back"
    body = _of(rng, string.digits, 18)
    check = 98 - int(body + "131400") % 97
    iban = f"DE{check:02d}{body}"
    yield "account", iban, f"paid to {iban}."
    digits = [rng.randrange(10) for _ in range(9)]
    for weight in (10, 11):
        total = sum(d * w for d, w in zip(digits, range(weight, 1, -1), strict=True))
        digits.append((11 - total % 11) % 11 % 10)
    c = "".join(map(str, digits))
    cpf = f"{c[:3]}.{c[3:6]}.{c[6:9]}-{c[9:]}"
    yield "national id", cpf, f"cliente {cpf} novo"


def _luhn(body: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return body + str(-total % 10)


def recall(make: Maker, check: Check, n: int, seed: int) -> dict[str, tuple[int, int]]:
    """Per class: how many were taken out whole, of how many."""
    rng, out = random.Random(seed), dict[str, list[int]]()
    for _ in range(n):
        for kind, datum, text in make(rng):
            row = out.setdefault(kind, [0, 0])
            row[0] += datum not in without(text, check.find(Text(text)))
            row[1] += 1
    return {k: (a, b) for k, (a, b) in out.items()}


def log_lines() -> Iterator[str]:
    """Lines of the recorded incidents that ship with the repository."""
    for file in sorted((ROOT / "examples" / "incidents").glob("*/logs/*")):
        with (
            gzip.open(file, "rt", errors="replace")
            if file.suffix == ".gz"
            else file.open(errors="replace") as lines
        ):
            yield from lines


def false_alarms(check: Check, most: int = _LINES) -> tuple[int, int]:
    """(lines with a hit, lines)."""
    bad = count = 0
    for line in log_lines():
        count += 1
        bad += weighed(check.find(Text(line)))[0] >= ENOUGH
        if count >= most:
            break
    return bad, count


def latency(turns: int = 400) -> dict[str, float]:
    """Multiples of one pass of one pattern over the same text: median and 99th percentile."""
    rng = random.Random(7)
    words = [
        "checkout",
        "service",
        "answered",
        "order",
        "with",
        "status",
        "error",
        "latency",
        "refused",
    ]
    one = re.compile(r"\b(?:ignore|disregard|forget)\b", re.IGNORECASE)
    plain, ours, piece = list[float](), list[float](), list[float]()
    checks: tuple[Check, ...] = (Injection(), Secrets(), Personal())
    for _ in range(turns):
        text = ""
        while len(text) < 2_000:
            text += rng.choice(words) + rng.choice([" ", " ", ", ", f" {rng.randrange(1000)} "])
        text = text[:2_000]
        for into, work in (
            (plain, lambda t=text: list(one.finditer(t))),
            (ours, lambda t=text: [list(c.find(Text(t))) for c in checks]),
            (piece, lambda t=text: [list(c.find(Text(t[:288]))) for c in checks]),
        ):
            before = time.perf_counter()
            work()
            into.append(time.perf_counter() - before)
    for row in (plain, ours, piece):
        row.sort()
    half, most = turns // 2, turns * 99 // 100
    return {
        "turn, median": ours[half] / plain[half],
        "turn, 99th percentile": ours[most] / plain[most],
        "chunk, median": piece[half] / plain[half],
        "chunk, 99th percentile": piece[most] / plain[most],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversation", description=__doc__)
    parser.add_argument("path", nargs="*", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=300, help="of each class of secret")
    options = parser.parse_args()
    paths = options.path or ([CORPUS] if CORPUS.is_file() else [])
    result: dict[str, Any] = {}
    if paths:
        result |= injections(paths)
    elif not options.json:
        print(f"no corpus of injections: {CORPUS} is not there, and no PATH was given")
    for name in ("seen", "unseen") if not options.path else ():
        result[f"own attacks, {name}"] = injections([HELD_OUT / f"{name}.jsonl"])["attack"]
    result["secrets"] = recall(secrets, Secrets(), options.n, options.seed)
    result["personal data"] = recall(people, Personal(), options.n, options.seed)
    result["false alarms on log lines"] = {
        name: false_alarms(check)
        for name, check in (
            ("secrets", Secrets()),
            ("personal", Personal()),
            ("injection", Injection()),
        )
    }
    result["times one pattern's pass"] = latency()
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
        return
    for title, rows in result.items():
        print(f"\n{title}")
        for name, value in rows.items():
            shown = (
                f"{value[0]:6d} of {value[1]:6d}  {value[0] / value[1]:6.1%}"
                if isinstance(value, tuple)
                else f"{value:8.3g}"
            )
            print(f"  {name:44} {shown}")


if __name__ == "__main__":
    main()
