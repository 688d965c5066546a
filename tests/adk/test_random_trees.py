"""Any tree of agents stays below every ceiling at every moment, by what ran inside of it."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import AgentTool
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from matrix_lab import Lab
from pydantic import PrivateAttr

from roundsman.guard import Account, apply
from roundsman.ledger.fold import event_of
from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, call, run_guarded


class Modest(BaseLlm):
    """Bills no more than a prompt's estimate, and some of the output it was allowed."""

    model: str = "modest"
    _answer: Any = PrivateAttr()
    _dice: random.Random = PrivateAttr()

    def __init__(self, answer: Any, dice: random.Random) -> None:
        super().__init__()
        self._answer, self._dice = answer, dice

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        allowed = llm_request.config.max_output_tokens
        assert allowed is not None
        for _ in range(self._dice.randint(0, 4)):
            await asyncio.sleep(0)
        output = self._dice.randint(0, min(allowed, 3_000))
        used = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=1, candidates_token_count=output, total_token_count=1 + output
        )
        content = types.Content(role="model", parts=self._answer())
        yield LlmResponse(content=content, usage_metadata=used)


class Forest:
    """Makes agents below agents, each of which asks for a few things at once, again and again."""

    def __init__(self, seed: int) -> None:
        self.dice, self.lab, self.made = random.Random(seed), Lab(), 0

    def agent(self, depth: int) -> LlmAgent:
        """An agent with up to two agents below it, as tools."""
        self.made += 1
        dice, name = self.dice, f"n{self.made}"
        below = [self.agent(depth - 1) for _ in range(dice.randint(0, 2))] if depth else []
        turns, asked_so_far = dice.randint(1, 5), itertools.count()

        def answer() -> list[types.Part]:
            n = next(asked_so_far)
            self.lab.log.append(("model", n))
            asked = []
            if n % (turns + 1) != turns:
                asked = [call("dig", depth=n * 100 + k) for k in range(dice.randint(0, 3))]
                asked += [call(a.name, request=f"{n}") for a in below if dice.random() < 0.7]
            return asked or [types.Part(text="done")]

        tools = [self.lab.dig, *(AgentTool(a) for a in below)]
        return LlmAgent(name=name, description="x", model=Modest(answer, dice), tools=tools)

    def root(self) -> Any:
        """One agent, or several side by side or one after another."""
        kind = self.dice.choice([None, ParallelAgent, SequentialAgent])
        if kind is None:
            return self.agent(2)
        return kind(name="top", sub_agents=[self.agent(1) for _ in range(self.dice.randint(2, 3))])


def bounds(dice: random.Random) -> Policy:
    base = load_policy("default")
    run = {
        "tokens": dice.randint(2_000, 20_000), "usd": None, "wall_clock": None,
        "steps": dice.randint(3, 25), "actions": dice.randint(3, 25),
    }  # fmt: skip
    sections = base.model_dump() | {
        "run": base.run.model_dump() | run,
        "agents": {"max_calls": dice.randint(1, 6), "max_depth": 3},
        "repetition": {"mode": "off"},
        "finish": {"report_after_steps": None},
    }
    return Policy.model_validate(sections)


def check(result: GuardedResult, policy: Policy, lab: Lab) -> None:
    account, run = Account(), policy.run
    assert run.tokens is not None
    assert run.steps is not None
    assert run.actions is not None
    for record in result.records:
        account = apply(account, event_of(record))
        assert account.tokens + account.reserved_tokens <= run.tokens
        assert account.steps <= run.steps
        assert account.actions <= run.actions
        assert account.nested <= (policy.agents.max_calls or 0)
    assert lab.steps == account.steps
    assert lab.actions == account.by_tool.get("dig", 0)
    assert sum(s.tokens for s in account.shares.values()) == account.tokens
    assert (account.reserved, account.open_actions, account.ended) == ({}, {}, True)


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6))
def test_no_tree_of_agents_passes_a_ceiling(seed: int) -> None:
    forest = Forest(seed)
    root, policy = forest.root(), bounds(forest.dice)
    result = asyncio.run(run_guarded(root, "go", policy))
    check(result, policy, forest.lab)
