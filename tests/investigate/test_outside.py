"""A provider that fails: told by the words of error lines, in one service or several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.investigate.test_competing_causes import ERRORS, best, change, facts, line

from roundsman.cli import main

CALLS = (
    "charge <n> failed: POST https://gate.payco.example/v<n>/charges returned <n> Bad Gateway",
    "charge <n> failed: gate.payco.example answered <n> Service Unavailable",
    "503 Server Error: Service Unavailable for url: https://gate.payco.example/v1/charges",
    'Post "https://gate.payco.example/v1": context deadline exceeded',
    'I/O error on POST request for "https://user:x@gate.payco.example:8443/a": Read timed out',
    "HTTPSConnectionPool(host='gate.payco.example', port=443): Read timed out.",
    "request to https://gate.payco.example/ failed, reason: connect ECONNREFUSED",
    "connect to gate.payco.example:443: connection refused",
)
INNOCENT = (
    "charge <n> failed: POST https://ledger.shop.example/v<n> returned <n> Bad Gateway",  # ours
    "POST http://gate.payments.svc.cluster.local/charges returned 503",
    "POST http://payments:8080/charges returned 503 Service Unavailable",
    "GET http://10.0.0.7:8080/a returned 503 Service Unavailable",
    "POST https://gate.payco.example/v1 returned 401 Unauthorized",
    "timed out (Background on this error at: https://docs.payco.example/e/20)",
    "query timed out, see https://docs.payco.example/errors#timeouts",
    'upstream timed out, host: "www.payco.example", referrer: "https://www.payco.example/cart"',
    "com.shop.cart.Checkout timed out",
    "error from handlers/cart.service.py timed out",
)


@pytest.mark.parametrize("said", CALLS)
def test_one_service_is_enough_when_it_says_that_a_call_to_a_host_failed(said: str) -> None:
    found = facts(ERRORS, [line(said)])
    assert best(found).startswith("gate.payco.example, which is outside, fails")


@pytest.mark.parametrize("said", INNOCENT)
def test_a_host_of_ours_one_only_mentioned_or_a_module_is_no_provider(said: str) -> None:
    known = line("listening", "ledger", level="INFO")
    assert "outside" not in best(facts(ERRORS, [line(said), known]))


def test_several_services_that_point_to_one_page_accuse_nobody() -> None:
    said = "query timed out, see https://docs.payco.example/errors"
    assert best(facts(ERRORS, [line(said), line(said, "web")])) == ""


def test_the_request_a_record_belongs_to_is_no_call() -> None:
    record = {"msg": "checkout failed", "url": "https://www.payco.example/cart", "status": 503}
    one = line("checkout failed") | {"example": json.dumps(record)}
    assert best(facts(ERRORS, [one])) == ""


def test_a_change_that_explains_the_errors_goes_before_the_provider() -> None:
    lowered = change("v2", **{"effects": [{"what": "timeout lowered", "can": ["timeout"],
                                           "line": "x"}], "read": True})  # fmt: skip
    assert "v2" in best(facts(ERRORS, [line(CALLS[3])], [lowered]))


def test_an_unread_change_just_before_leaves_it_open() -> None:
    assert best(facts(ERRORS, [line(CALLS[0])], [change("v2")])) == ""


def test_a_payment_service_alone_in_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, lines = ["timestamp,service,metric,value"], []
    for tick in range(240):
        at = f"2026-03-01T10:{tick // 4:02d}:{15 * (tick % 4):02d}Z"
        rows.append(f"{at},till,failed_per_min,{(tick % 3) + (50 if tick >= 160 else 0)}")
        said = "charge 1 captured"
        if tick >= 160:
            said = f"charge {tick} failed: POST https://gate.payco.example/v2/x returned 503"
        level = "error" if tick >= 160 else "info"
        lines.append(json.dumps({"ts": at, "level": level, "service": "till", "msg": said}))
    (tmp_path / "metrics.csv").write_text("\n".join(rows))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "till.ndjson").write_text("\n".join(lines))
    with pytest.raises(SystemExit, match="0"):
        main(["investigate", str(tmp_path), "--json"])
    cause = json.loads(capsys.readouterr().out)["cause"]
    assert (cause["kind"], cause["service"]) == ("upstream", "till")
    assert "provider" in cause["next_action"]
