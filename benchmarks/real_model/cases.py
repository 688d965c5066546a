"""Fixed incidents: the shipped folders, and the scripted scenarios' question with their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roundsman.guard import rules_for
from roundsman.investigate import investigate
from roundsman.investigate.agent import DECLARED, build_app, declared
from roundsman.investigate.assemble import base_report
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.execute import execute
from roundsman.investigate.incident import load_incident
from roundsman.investigate.models import model_named
from roundsman.investigate.scenarios import QUESTION, Toolbox
from roundsman.investigate.tools import make_tools
from roundsman.ledger import LiveRun, Store
from roundsman.policy import Policy

INCIDENTS = Path(__file__).parents[2] / "examples" / "incidents"
SCRIPTED = "scripted-tools"
CASES = (SCRIPTED, *sorted(p.name for p in INCIDENTS.iterdir() if p.is_dir()))


def run_case(
    case: str, policy: Policy, model: str, endpoint: Endpoint, store: Store
) -> dict[str, Any]:
    """One investigation by that model; its report."""
    if case != SCRIPTED:
        name = f"openai/{model}"
        return investigate(INCIDENTS / case, policy, model=name, store=store, endpoint=endpoint)[0]
    policy = declared(policy)
    llm = model_named(f"openai/{model}", endpoint)
    app = build_app(Toolbox({}, []).tools(), llm, policy, store=store)
    rules = rules_for(policy)
    run = LiveRun.start(store, rules, policy=policy.digest, question=QUESTION, model=model)
    asyncio.run(execute(app, run, QUESTION))
    return {**base_report(run, policy, model, QUESTION), "cause": {}}


def told_of(case: str) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """The question, and what each of three reads answers to it without arguments."""
    if case == SCRIPTED:
        box = Toolbox({}, [])
        metrics, logs, deploys, _ = box.tools()
        return QUESTION, [
            ("query_metrics", metrics("checkout-api", "errors")),
            ("query_logs", logs("payments-db")),
            ("list_deploys", deploys()),
        ]
    incident = load_incident(INCIDENTS / case)
    tools: Sequence[Callable[..., Any]] = make_tools(incident)
    by_name = {tool.__name__: tool for tool in tools}
    reads = [name for name in ("query_metrics", "query_logs", "list_deploys") if name in by_name]
    return incident.describe(), [(name, by_name[name]()) for name in reads]


def tool_names() -> list[str]:
    """Names by which a printed call is known."""
    return [*DECLARED, "restart_pod"]
