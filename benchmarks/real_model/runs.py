"""Whole investigations: guard off (a hard cap of steps), `baseline` and `default`, side by side."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.real_model.asking import made
from benchmarks.real_model.cases import run_case
from benchmarks.real_model.proxy import Exchange, Proxy
from benchmarks.real_model.reading import read
from roundsman.guard import Account, apply
from roundsman.guard.events import StepBegins
from roundsman.investigate.endpoint import Endpoint
from roundsman.ledger import Record, Store
from roundsman.ledger.fold import event_of
from roundsman.loop import Held, read_answer
from roundsman.policy import Policy, load_policy

CAP = 30
MANY = 8
"""Identical calls from which a run counts as one that repeats itself."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
GUARDS = ("off", "baseline", "default")


def policy_of(guard: str, folder: Path, seconds: int) -> Policy:
    """The policy of a run. Time is bounded alike everywhere, far out: it measures the machine."""
    file = folder / f"{guard}.yaml"
    if guard == "off":
        file.write_text(
            "version: 1\nextends: baseline\n"
            "loop: {max_rounds: null, stop_after_idle_rounds: null}\n"
            f"run: {{tokens: null, wall_clock: {seconds}s, steps: {CAP}}}\n"
            "round: {steps: null, timeout: null}\n"
        )
    else:
        file.write_text(
            f"version: 1\nextends: {guard}\nrun: {{wall_clock: {seconds}s}}\n"
            f"round: {{timeout: {seconds}s}}\n"
        )
    return load_policy(str(file))


def one_run(
    proxy: Proxy, model: str, case: str, seed: int, tools: str, guard: str, seconds: int = 1800
) -> dict[str, Any]:
    """One investigation: how it ended, what it spent, and what the server saw of it."""
    proxy.restart(seed)
    with tempfile.TemporaryDirectory() as folder:
        policy = policy_of(guard, Path(folder), seconds)
        store = Store(Path(folder) / "s.sqlite")
        try:
            report = run_case(case, policy, model, Endpoint.of(proxy.url, tools), store)
            store.verify(report["run_id"])
            records = store.records(report["run_id"])
        finally:
            store.close()
    seen = list(proxy.exchanges)
    grounded = _grounded(records)
    answered = [read(_answer(e), e.cut) for e in seen if e.status == 200 and made(e) == "none"]
    return {
        "case": case,
        "seed": seed,
        "tools": tools,
        "guard": guard,
        "stop": report["stop"]["reason"],
        "detail": report["stop"]["detail"],
        "rounds": report["rounds"],
        "steps": report["usage"]["steps"],
        "requests": len(seen),
        "probes": sum(e.asked.get("tool_choice") == "required" for e in seen),
        "actions": report["usage"]["actions"],
        "tokens": report["usage"]["tokens"],
        "calls": dict(Counter(made(e) for e in seen if made(e) != "none")),
        **journal_row(policy, records),
        "answers": dict(Counter(a.outcome for a in answered)),
        "damage": dict(Counter(a.damage for a in answered if a.damage)),
        "strange": [s for a in answered for s in a.strange],
        "kept": len(report["findings"]),
        "kept_out": len(report["unsupported"]),
        "ungrounded": len(grounded.unsupported),
        "cause": report["cause"].get("service") or None,
    }


def journal_row(policy: Policy, records: Sequence[Record]) -> dict[str, Any]:
    """What a run's journal shows: limits that were passed, whether it is whole, the most identical calls
    that were asked for, and its course."""
    kinds = Counter(r.kind for r in records)
    return {
        "passed_limits": passed_limits(policy, records),
        "journal_whole": kinds["step_begins"] == kinds["step_ends"] and kinds["run_ends"] == 1,
        "identical": max(_asked_for(records).values(), default=0),
        "course": course(records),
    }


def passed_limits(policy: Policy, records: Sequence[Record]) -> list[str]:
    """Limits that were passed: a step that began beyond one, or more tokens than may be spent.

    `baseline` settles: the reply that reaches its budget still counts, and no step begins after it.
    """
    account, passed, run = Account(), list[str](), policy.run
    for record in records:
        event = event_of(record)
        if isinstance(event, StepBegins):
            if run.steps is not None and account.steps >= run.steps:
                passed.append(f"step {account.steps + 1} of {run.steps}")
            if run.tokens is not None and account.tokens >= run.tokens:
                passed.append(f"a step after {account.tokens} of {run.tokens} tokens")
            most = policy.round.steps
            if most is not None and account.loop(event.loop).steps >= most:
                passed.append(f"step {account.loop(event.loop).steps + 1} of {most} in a round")
        account = apply(account, event)
    most = policy.loop.max_rounds
    if most is not None and account.rounds > most:
        passed.append(f"{account.rounds} of {most} rounds")
    reserves = run.accounting == "reserve" and run.tokens is not None
    if reserves and account.tokens > (run.tokens or 0) + account.over:
        passed.append(f"{account.tokens} of {run.tokens} tokens")
    return passed


def _answer(one: Exchange) -> str:
    """The round's answer of a reply: without the wrapper of a constrained step."""
    if one.constrained:
        try:
            step = json.loads(one.text)["step"]
            return json.dumps(step, ensure_ascii=False)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
    return one.text


def _asked_for(records: Sequence[Record]) -> Counter[str]:
    """Calls the model asked for, whether they ran or not."""
    return Counter(
        json.dumps([p["function_call"].get("name"), p["function_call"].get("args")], sort_keys=True)
        for r in records
        if r.kind == "step_ends" and r.body.get("reply")
        for p in r.body["reply"].get("parts") or []
        if p.get("function_call")
    )


def course(records: Sequence[Record]) -> str:
    """A run at a glance: a letter a call, the same letter for the identical one, small when it did not
    run; `.` for a reply without a call, `!` for none, `|` where a round begins."""
    names: dict[str, str] = {}
    marks: list[str] = []
    for record in records:
        if record.kind == "round_begins":
            marks.append("|")
        elif record.kind == "action_begins" and marks:
            marks[-1] = marks[-1].upper()
        elif record.kind == "step_ends":
            (call, *_) = [*_asked_for([record]), ""]
            if call:
                marks.append(names.setdefault(call, _LETTERS[len(names) % len(_LETTERS)]))
            else:
                marks.append("." if record.body.get("reply") else "!")
    return "".join(marks)


def _grounded(records: Sequence[Record]) -> Held:
    """The run's findings as the grounded rule sees them, whatever its policy."""
    results = {
        r.body["id"]: json.dumps(r.body.get("result"), default=str, ensure_ascii=False)
        for r in records
        if r.kind == "action_ends"
    }
    held = Held("grounded")
    for record in records:
        if record.kind == "round_ends":
            claims = read_answer(dict(record.body["answer"])).claims
            held.take(claims, record.body["index"], results)
    return held
