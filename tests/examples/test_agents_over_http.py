"""`adk api_server` over examples/agents: a session, a question, an answer, a run in the journal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from roundsman.ledger import open_store

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [
            sys.executable, "-m", "google.adk.cli", "api_server", "--host", "127.0.0.1",
            "--port", "0", str(EXAMPLES / "agents"),
        ],
        env=os.environ
        | {
            "ROUNDSMAN_HOME": str(tmp_path / "home"),
            "ROUNDSMAN_INCIDENT": str(EXAMPLES / "incidents" / "pool-exhaustion"),
        },
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    seen = []
    for line in process.stderr:  # the server says when it listens
        seen.append(line)
        if listens := re.search(r"Uvicorn running on (http://127\.0\.0\.1:\d+)", line):
            break
    else:
        pytest.fail("the server ended: " + "".join(seen)[-2000:])
    threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would block it
    yield listens[1]
    process.send_signal(signal.SIGINT)
    process.wait(300)


def test_the_investigator_answers_over_http(server: str, tmp_path: Path) -> None:
    with httpx.Client(base_url=server, timeout=300, trust_env=False) as client:
        made = client.post("/apps/investigator/users/oncall/sessions", json={})
        assert made.status_code == 200, made.text
        question = "checkout-api answers with errors. What is the cause?"
        answer = client.post(
            "/run",
            json={
                "appName": "investigator",
                "userId": "oncall",
                "sessionId": made.json()["id"],
                "newMessage": {"role": "user", "parts": [{"text": question}]},
            },
        )
    assert answer.status_code == 200, answer.text
    outputs = [e["output"] for e in answer.json() if isinstance(e.get("output"), dict)]
    assert outputs
    assert outputs[-1]["findings"]
    store = open_store(tmp_path / "home")
    (info,) = store.runs()
    assert info.status == "done"
    assert info.question == question
    assert info.rounds == outputs[-1]["rounds"]
    store.verify(info.run_id)
    store.close()
