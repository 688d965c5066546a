"""A model call that fails for a moment is made again, a step each time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.attempts import attempts
from roundsman.adk.current import bound
from roundsman.adk.model import guard_model
from roundsman.guard import rules_for
from roundsman.ledger import LiveRun, Store
from roundsman.policy import load_policy


class Failing(BaseLlm):
    """Raises until call `good`, after `before` responses."""

    good: int = 2
    before: int = 0
    calls: int = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.calls += 1
        text = types.Part(text="hello")
        reply = LlmResponse(content=types.Content(role="model", parts=[text]))
        if self.calls < self.good:
            for _ in range(self.before):
                yield reply.model_copy(update={"partial": True})
            raise ConnectionResetError("gone")
        yield reply


class Patient(Failing):
    def wait_after(self, error: Exception, attempt: int) -> float | None:
        return 0.0 if isinstance(error, OSError) and attempt < 3 else None


async def asked(model: BaseLlm, run: LiveRun | None) -> list[LlmResponse]:
    request = LlmRequest(model="m", contents=[types.Content(role="user")])
    request.config = types.GenerateContentConfig()
    said = []
    if run is None:
        return [one async for one in guard_model(model).generate_content_async(request)]
    with bound(run):
        async for one in guard_model(model).generate_content_async(request):
            said.append(one)
    return said


@pytest.fixture
def begun(tmp_path: Path) -> LiveRun:
    policy = load_policy("default")
    return LiveRun.start(Store(tmp_path / "s.sqlite"), rules_for(policy), policy=policy.digest)


async def test_each_attempt_is_a_step_with_an_outcome(begun: LiveRun) -> None:
    run = begun
    said = await asked(Patient(model="m", good=3), run)
    assert len(said) == 1
    assert run.account.steps == 3
    assert not run.account.reserved
    errors = [bool(r.body["error"]) for r in run.store.records(run.run_id) if r.kind == "step_ends"]
    assert errors == [True, True, False]


async def test_the_last_failure_is_passed_on(begun: LiveRun) -> None:
    run, model = begun, Patient(model="m", good=9)
    with pytest.raises(ConnectionResetError):
        await asked(model, run)
    assert model.calls == run.account.steps == 3


@pytest.mark.parametrize(
    ("make", "within"),
    [
        (lambda: Failing(model="m"), True),
        (lambda: Patient(model="m", before=1), True),
        (lambda: Patient(model="m"), False),
    ],
    ids=["no patience", "something was said", "outside of runs"],
)
async def test_what_is_not_asked_again(
    begun: LiveRun, make: Callable[[], Failing], within: bool
) -> None:
    model = make()
    with pytest.raises(ConnectionResetError):
        await asked(model, begun if within else None)
    assert model.calls == 1


async def test_a_run_that_was_stopped_waits_for_nothing(begun: LiveRun) -> None:
    run, tries = begun, list[int]()

    async def once() -> AsyncGenerator[Any, None]:
        tries.append(1)
        run.stop("aborted", "a person said so")
        raise ConnectionResetError
        yield

    with pytest.raises(ConnectionResetError):
        async for _ in attempts(once, Patient(model="m"), run):
            pass
    assert len(tries) == 1
