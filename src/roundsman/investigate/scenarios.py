"""Three scripted runs through the real engine, without a key: what the bounds do, shown.

The story is invented and no rule is derived from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.adk.models.llm_request import LlmRequest

from roundsman.adk import ScriptedModel, call, current_action_id
from roundsman.errors import UsageError
from roundsman.guard import rules_for
from roundsman.investigate.agent import build_app, declared
from roundsman.investigate.assemble import base_report
from roundsman.investigate.execute import execute
from roundsman.ledger import LiveRun, Store
from roundsman.policy import Policy

QUESTION = "checkout-api answers 18 % of requests with an error since 10:07. What is the cause?"
TOKENS_PER_CALL = 1500
_ROUND = re.compile(r"^Round: (\d+)$", re.MULTILINE)


@dataclass
class Toolbox:
    """The scripted tools, and what they saw. They count inside themselves."""

    executed: dict[str, int]
    windows: list[float]

    def tools(self) -> list[Callable[..., Any]]:
        """The three reads, and the write that must never run."""

        def query_metrics(service: str, metric: str, window_minutes: int = 30) -> dict[str, Any]:
            """Values of one metric of a service over the last minutes."""
            return self._answer(
                "query_metrics", f"{service} {metric}: 0.2 % until 10:06, 18 % from 10:07"
            )

        def query_logs(service: str, text: str = "", window_minutes: int = 30) -> dict[str, Any]:
            """Log lines of a service that contain a text over the last minutes."""
            self.windows.append(window_minutes)
            return self._answer(
                "query_logs", f"{service}: FATAL: sorry, too many clients already (payments-db)"
            )

        def list_deploys(window_minutes: int = 60) -> dict[str, Any]:
            """Deploys of the last minutes."""
            return self._answer(
                "list_deploys", "checkout-api v1.42 deployed 10:00: DB_POOL_SIZE 50 -> 20"
            )

        def restart_pod(pod: str) -> dict[str, Any]:
            """Restart a pod."""
            return self._answer("restart_pod", f"{pod} restarted")

        return [query_metrics, query_logs, list_deploys, restart_pod]

    def _answer(self, tool: str, text: str) -> dict[str, Any]:
        self.executed[tool] = self.executed.get(tool, 0) + 1
        return {"status": "ok", "excerpts": [text], "evidence_id": current_action_id()}


def _place(request: LlmRequest) -> tuple[int, int, list[str]]:
    """(round, steps taken in it, evidence ids seen in it) of a request."""
    texts, turns, ids = [], 0, list[str]()
    for content in request.contents:
        answers = [p.function_response for p in content.parts or [] if p.function_response]
        turns += bool(answers)
        for answer in answers:
            found = (answer.response or {}).get("evidence_id")
            if found:
                ids.append(str(found))
        texts += [p.text for p in content.parts or [] if p.text]
    match = _ROUND.findall("\n".join(texts))
    return (int(match[-1]) if match else 1), turns, ids


def _say(*findings: tuple[str, list[str]]) -> str:
    claims = [{"statement": s, "evidence": e} for s, e in findings]
    return json.dumps({"findings": claims, "done": False})


FACTS = (
    "checkout-api errors rose to 18 % from 10:07",
    "payments-db refuses connections: too many clients",
    "checkout-api v1.42, deployed 10:00, cut DB_POOL_SIZE from 50 to 20",
)


def _converge(request: LlmRequest, number: int) -> Any:
    index, turns, ids = _place(request)
    if turns == 0:
        if index == 1:
            return call("query_metrics", service="checkout-api", metric="errors")
        if index == 2:
            return call("query_logs", service="payments-db", text="FATAL", window_minutes=240)
        if index == 3:
            return [call("list_deploys", window_minutes=60), call("restart_pod", pod="checkout-1")]
        if index == 4:
            return call("query_logs", service="checkout-api", text="ERROR", window_minutes=15)
    if index <= 3:
        return _say((FACTS[index - 1], ids))
    return _say(*((f"  {fact.upper()} ", ids) for fact in FACTS))


def _runaway(request: LlmRequest, number: int) -> Any:
    _, turns, _ = _place(request)
    if turns % 2:
        return call("query_logs", service="checkout-api", text=f"page {turns}")
    return call("query_metrics", service="checkout-api", metric=f"metric {turns}")


def _endless(request: LlmRequest, number: int) -> Any:
    index, turns, _ = _place(request)
    if turns < 3:
        return call("query_metrics", service=f"service-{index}", metric=f"metric {turns}")
    return _say((f"suspicion number {index}: service-{index} may be slow", []))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scripted model and what it shows."""

    about: str
    script: Callable[[LlmRequest, int], Any]


SCENARIOS: dict[str, Scenario] = {
    "converge": Scenario("finds three things in three rounds, then repeats itself", _converge),
    "runaway-tools": Scenario("calls tools for ever and never answers", _runaway),
    "endless-findings": Scenario('claims something "new" in every round', _endless),
}


async def run_scenario(
    name: str, policy: Policy, store: Store, tokens_per_call: int = TOKENS_PER_CALL
) -> dict[str, Any]:
    """Run one scenario; the report, and under `scenario` what the tools themselves counted.

    Raises:
        UsageError: there is no scenario of that name.
    """
    if name not in SCENARIOS:
        known = ", ".join(SCENARIOS)
        raise UsageError(f"no scenario {name!r}; there are: {known}")
    policy = declared(policy)
    box = Toolbox({}, [])
    model = ScriptedModel(SCENARIOS[name].script, tokens_per_call=tokens_per_call)
    app = build_app(box.tools(), model, policy, name="scenario", store=store)
    run = LiveRun.start(
        store, rules_for(policy), policy=policy.digest, question=QUESTION, model="scripted"
    )
    await execute(app, run, QUESTION)
    report = base_report(run, policy, "scripted", QUESTION)
    report["scenario"] = {
        "name": name,
        "tokens_per_call": tokens_per_call,
        "model_calls": model.calls,
        "executed": {"restart_pod": 0, **box.executed},
        "log_windows": box.windows,
    }
    store.save_report(run.run_id, report)
    return report
