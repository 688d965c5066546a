"""Model Armor as a check, against a server on loopback that speaks its documented protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.adk.talks import SAFE, checks, play, policy, ruled

from roundsman.errors import PolicyError

pytest.importorskip("google.cloud.modelarmor_v1", reason="google-cloud-modelarmor is not installed")
from google.auth.credentials import AnonymousCredentials

from roundsman.adk.model_armor import LONGEST, OVERLAP, NotScreened, model_armor

TEMPLATE = "projects/p/locations/europe-west1/templates/t"
CHECK: dict[str, Any] = {}


def screen(text: str) -> str | None:
    """The check a policy of these tests names."""
    found: str | None = CHECK["check"](text)
    return found


class Server(ThreadingHTTPServer):
    """Matches texts with `jailbreak` or `card`; what it is asked is kept."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.invocation, self.status = "SUCCESS", 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (item,) = body.values()
        self.server.asked.append((self.path.split("?")[0], item["text"]))
        matched = {name: name in item["text"] for name in ("jailbreak", "card")}
        state = {True: "MATCH_FOUND", False: "NO_MATCH_FOUND"}
        answer = {
            "sanitizationResult": {
                "filterMatchState": state[any(matched.values())],
                "invocationResult": self.server.invocation,
                "filterResults": {
                    "pi_and_jailbreak": {
                        "piAndJailbreakFilterResult": {
                            "executionState": "EXECUTION_SUCCESS",
                            "matchState": state[matched["jailbreak"]],
                            "confidenceLevel": "HIGH",
                        }
                    },
                    "sdp": {
                        "sdpFilterResult": {
                            "inspectResult": {
                                "executionState": "EXECUTION_SUCCESS",
                                "matchState": state[matched["card"]],
                            }
                        }
                    },
                },
            }
        }
        data = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()


def check(server: Server, **options: Any) -> Any:
    anybody = AnonymousCredentials()
    return model_armor(TEMPLATE, endpoint=server.address, credentials=anybody, **options)


def test_prompts_and_replies_go_to_their_own_method_of_the_template(server: Server) -> None:
    assert check(server)("hello") is None
    assert check(server, replies=True)("hello") is None
    methods = ("sanitizeUserPrompt", "sanitizeModelResponse")
    assert server.asked == [(f"/v1/{TEMPLATE}:{method}", "hello") for method in methods]


def test_filters_that_match_are_named(server: Server) -> None:
    assert check(server)("a jailbreak and a card") == "model armor: pi_and_jailbreak, sdp"
    assert check(server)("a card") == "model armor: sdp"


@pytest.mark.parametrize("how", ["PARTIAL", "FAILURE", "INVOCATION_RESULT_UNSPECIFIED"])
def test_what_was_not_looked_at_is_no_clean_text(server: Server, how: str) -> None:
    server.invocation = how
    with pytest.raises(NotScreened, match=how.lower()):
        check(server)("hello")


def test_a_long_text_is_looked_at_in_pieces_that_overlap(server: Server) -> None:
    text = "word " * 30_000
    assert check(server)(text + "jailbreak") is not None
    pieces = [piece for _, piece in server.asked]
    assert len(pieces) == 3
    assert max(map(len, pieces)) == LONGEST
    assert pieces[0][-OVERLAP:] == pieces[1][:OVERLAP]


@pytest.mark.parametrize(
    "name", ["t", "projects/p/templates/t", "projects//locations/l/templates/t"]
)
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="projects/P/locations/L/templates/T"):
        model_armor(name)


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [(200, "hello", "fine"), (200, "a jailbreak", "No."), (403, "hello", SAFE)],
)
def test_it_is_a_check_of_a_policy(
    tmp_path: Path, server: Server, status: int, message: str, said: str
) -> None:
    server.status = status
    CHECK["check"] = check(server)
    own = "python: 'tests.adk.test_model_armor:screen', heavy: true, budget: 60s"
    rules = policy(tmp_path, checks(f"armor: {{on: [input, reply], reply: No., {own}}}"))
    result, _ = play(["fine"], message, rules)
    assert result.text == said
    assert (("refuse", "armor", True) in ruled(result)) is (said != "fine")
