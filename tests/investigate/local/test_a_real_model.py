"""A real small model: that it ends, within its limits, with a whole journal. What it says is not looked
at: SmolLM2-135M writes garbage, and that is what it is here for.

`.ci/run` installs server and weights (see CONTRIBUTING.md) and asks for this test; elsewhere it is
skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.real_model.cases import SCRIPTED, run_case
from benchmarks.real_model.proxy import counting
from benchmarks.real_model.runs import passed_limits
from benchmarks.real_model.server import OWN, own_server

from roundsman.errors import MissingDependency
from roundsman.investigate.endpoint import Endpoint
from roundsman.ledger import Store
from roundsman.policy import load_policy

LIMITS = """\
version: 1
extends: default
loop: {max_rounds: 2}
run: {steps: 4, tokens: 8000, wall_clock: 100s}
"""


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("ROUNDSMAN_REAL_MODEL") != "1",
    reason="a real model is asked only with ROUNDSMAN_REAL_MODEL=1, as .ci/run has it",
)
def test_a_real_model_ends_within_its_limits(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(LIMITS)
    policy = load_policy(str(tmp_path / "p.yaml"))
    try:
        with (
            own_server(context=4096, threads=1) as url,
            counting(f"{url}/v1", most=48) as proxy,
        ):
            store = Store(tmp_path / "s.sqlite")
            there = Endpoint.of(proxy.url, "prompted")
            report = run_case(SCRIPTED, policy, OWN, there, store)
    except MissingDependency as error:
        pytest.skip(str(error))
    store.verify(report["run_id"])
    records = store.records(report["run_id"])
    kinds = [r.kind for r in records]
    assert report["stop"]["reason"] in ("no_progress", "steps", "tokens", "max_rounds", "wall_clock",
                                        "repetition", "done")  # fmt: skip
    assert passed_limits(policy, records) == []
    assert len(proxy.exchanges) == report["usage"]["steps"] <= 4
    assert kinds.count("step_begins") == kinds.count("step_ends") == len(proxy.exchanges)
    assert kinds[-1] == "run_ends"
