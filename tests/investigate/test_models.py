"""Which model investigates, and what a name lacks that cannot be served."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest

from roundsman.errors import MissingDependency, UsageError
from roundsman.investigate import investigate
from roundsman.investigate import models as named
from roundsman.investigate.models import model_named
from roundsman.ledger import Store
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("openai/gpt-4o", "litellm"),
        ("groq/llama", "litellm"),
        ("claude-sonnet-4-5", "anthropic"),
        ("gpt-4o", "openai"),
    ],
)
def test_a_name_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "none")
    monkeypatch.setattr(named, "find_spec", lambda _: None)

    def unknown(_: str) -> None:
        raise ValueError(f"Model {name} not found.\n\nInstall something.")

    monkeypatch.setattr("google.adk.models.registry.LLMRegistry.new_llm", unknown)
    with pytest.raises(MissingDependency) as caught:
        model_named(name)
    text = str(caught.value)
    assert f"needs the package {package}" in text
    assert "pip install 'roundsman[all]'" in text
    assert "\n" not in text


def test_what_is_named_to_install_is_in_the_extra() -> None:
    extra = [
        line for line in metadata.requires("roundsman") or [] if re.search(r"extra == .all.", line)
    ]
    for _, package in named._PACKAGES:
        assert any(line.startswith(package) for line in extra)


def test_a_name_nobody_serves_is_not_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="not known") as caught:
        model_named("nobody")
    assert not isinstance(caught.value, MissingDependency)


@pytest.fixture
def busy_provider() -> Iterator[tuple[str, list[int]]]:
    """A provider that is busy once, then answers."""
    answered: list[int] = []
    answer = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": '{"findings": [], "done": true}'}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 5,
            "candidatesTokenCount": 5,
            "totalTokenCount": 10,
        },
    }

    class Provider(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status = 200 if answered else 503
            answered.append(status)
            body = json.dumps(answer if status == 200 else {"error": {"code": 503}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answered
    server.shutdown()


def test_a_provider_that_is_busy_for_a_moment_ends_no_investigation(
    busy_provider: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url, answered = busy_provider
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
    store = Store(tmp_path / "s.sqlite")
    report, _ = investigate(OUTAGE, load_policy("default"), model="gemini-2.5-flash", store=store)
    assert answered[:2] == [503, 200]
    assert report["stop"]["reason"] == "no_progress"
    assert report["usage"]["tokens"] == 20
