"""Options, the three parts, and what they come to."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import benchmarks.real_model as about
from benchmarks.real_model.again import lines_of, same_runs
from benchmarks.real_model.asking import answer_of, call_of
from benchmarks.real_model.cases import CASES, SCRIPTED
from benchmarks.real_model.identity import identify
from benchmarks.real_model.kept import against, as_lines, of_file
from benchmarks.real_model.proxy import Proxy, counting
from benchmarks.real_model.rows import PARTS, Rows
from benchmarks.real_model.runs import CAP, GUARDS, one_run
from benchmarks.real_model.server import OWN, own_server, sha256, weights
from benchmarks.real_model.summary import as_text, summary
from roundsman.errors import RoundsmanError
from roundsman.investigate.endpoint import Endpoint, look

USUAL = (SCRIPTED, "pool-exhaustion", "harmless-deploy")


def main() -> int:
    """Measure and print; exit 2 for bad input or a server that is no model, 4 when a claim fails."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_model",
        description=about.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--base-url", help="an OpenAI-compatible server; without it one of its own is started")
    add("--model", default=OWN, help="the name the server has for it")
    add("--header", action="append", default=[], help="'HOST=Name: ${VARIABLE}' for a proxy")
    add("--cases", nargs="+", default=list(USUAL), choices=CASES)
    add("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    add("--guards", nargs="+", default=list(GUARDS), choices=GUARDS)
    add("--tools", nargs="+", default=["prompted"], choices=["prompted", "native", "auto"])
    add("--seeds", type=int, default=2, help="seeds of runs, for each case")
    add("--answer-seeds", type=int, default=5, help="seeds of answers and calls, for each case")
    add("--temperature", type=float, default=0.7)
    add("--reply-tokens", type=int, default=256, help="most tokens of one reply")
    add("--seconds", type=int, default=1800, help="most seconds of one run")
    add("--threads", type=int, default=1, help="of a server of its own")
    add(
        "--recorded",
        type=Path,
        help="only read what was kept in this file: answers (model, mode, raw, finish), and runs "
        "(model, seed, tool_calls, texts), which are played back",
    )
    add("--out", help="keep every row in this file of JSON lines; it goes on with one")
    add("--fake", action="store_true", help="go on with a server that is no model, so labelled")
    add("--json", action="store_true")
    options = parser.parse_args()
    try:
        return _kept(options) if options.recorded else _measure(options)
    except RoundsmanError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _kept(options: argparse.Namespace) -> int:
    found = of_file(options.recorded)
    print(json.dumps(found, indent=1) if options.json else "\n".join(as_lines(found)))
    return 4 if against(found) else 0


def _measure(options: argparse.Namespace) -> int:
    began, load = time.monotonic(), os.getloadavg()[0]
    with ExitStack() as stack:
        url = options.base_url or stack.enter_context(own_server(threads=options.threads))
        there = Endpoint.of(url, headers=tuple(options.header))
        look(there, options.model)  # raises what is wrong with it, in one line
        proxy = stack.enter_context(
            counting(there.url, there.header_values(), options.temperature, options.reply_tokens)
        )
        ours = "" if options.base_url else sha256(weights())
        who = identify(proxy, options.model, ours)
        if not who.real and not options.fake:
            print(f"error: {url} is no model: {who.why}; no figures", file=sys.stderr)
            return 2
        rows = Rows(options.out, {"model": who.name, **_conditions(options)})
        _fill(options, proxy, rows)
    found = summary(rows.parts["answers"], rows.parts["calls"], rows.parts["runs"])
    same = same_runs(rows.parts["runs"])
    machine = {
        "cores": os.cpu_count(),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "seconds": round(time.monotonic() - began),
    }
    conditions = {**_conditions(options), **machine}
    if options.json:
        data = {
            "model": who.name,
            "of_a_model": who.real,
            "why_not": who.why,
            "server": who.told,
            "conditions": conditions,
            **found,
            "same_runs_played_back": same,
            "rows": rows.parts,
        }
        print(json.dumps(data, indent=1))
    else:
        if not who.real:
            print(f"THESE ARE NO MODEL'S FIGURES: {who.why}")
        print("\n".join([as_text(who.name, found), *lines_of(same)]))
        print("conditions:", json.dumps(conditions))
    return 4 if any(claim["holds"] is False for claim in found["claims"].values()) else 0


def _conditions(options: argparse.Namespace) -> dict[str, Any]:
    """What must be alike for rows to be counted together."""
    return {
        "temperature": options.temperature,
        "most_reply_tokens": options.reply_tokens,
        "cap": CAP,
    }


def _fill(options: argparse.Namespace, proxy: Proxy, rows: Rows) -> None:
    """Measure what is asked for and not known yet."""

    def row(part: str, measure: Callable[..., dict[str, Any]], **named: Any) -> None:
        if rows.known(part, **named):
            return
        new = measure(proxy, options.model, **named)
        rows.add(part, new)
        shown = {k: v for k, v in new.items() if k not in ("text", "detail") and v}
        print(f"{part}: {json.dumps(shown)}", file=sys.stderr, flush=True)

    for case in options.cases:
        for seed in range(1, options.answer_seeds + 1):
            for mode in ("free", "schema") if "answers" in options.parts else ():
                row("answers", answer_of, case=case, seed=seed, mode=mode)
            for choice in ("auto", "required") if "calls" in options.parts else ():
                row("calls", call_of, case=case, seed=seed, tool_choice=choice)
        for seed in range(1, options.seeds + 1) if "runs" in options.parts else ():
            for tools in options.tools:
                for guard in options.guards:
                    run = partial(one_run, seconds=options.seconds)
                    row("runs", run, case=case, seed=seed, tools=tools, guard=guard)


if __name__ == "__main__":
    sys.exit(main())
