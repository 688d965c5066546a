"""An agent that calls its tool for ever, and one that is stopped: `python examples/guarded_loop.py`.

No key: a scripted model plays a model that never answers.
"""

import asyncio
import logging

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

from roundsman import guarded
from roundsman.testing import ScriptedModel, call

# A call that is stopped never reaches a model: it has no token usage, and ADK warns of that.
logging.getLogger("google_adk.google.adk.telemetry").setLevel(logging.ERROR)


def read_log(service: str) -> dict:
    """Read the last lines of a service's log."""
    return {"status": "empty", "service": service}


model = ScriptedModel(lambda request, number: call("read_log", service="checkout"))
agent = LlmAgent(name="helper", model=model, tools=[read_log])
app = guarded(agent, "default")


async def main() -> None:
    """Run it once and print how it ended."""
    events = await InMemoryRunner(app=app).run_debug("Why is it slow?", quiet=True)
    print(f"{len(events)} events; the last: {events[-1].error_message}")


if __name__ == "__main__":
    asyncio.run(main())
