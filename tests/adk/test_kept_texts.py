"""What is kept of the texts of a conversation: in the journal, and in the session for later turns."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from tests.adk.live_stub import END, StubLive, aloud, heard, text
from tests.adk.talks import (
    TOKEN,
    Payments,
    Session,
    Watched,
    checks,
    hold,
    live_checks,
    play,
    policy,
    seen_by,
)

from roundsman import guarded, load_policy
from roundsman.adk.screening import Screen
from roundsman.guard import rules_for
from roundsman.guard.rules.conversation import TextRule
from roundsman.guard.said import Said
from roundsman.ledger import open_store
from roundsman.testing import ScriptedModel, call

MAIL = "ann.lee@example.com"
PRIVATE = "secrets: {}, personal: {}"
TAINT = "\n  taint: {mode: enforce, on_untrusted: refuse}"
EFFECTS = "read_mail: {effect: read}, pay: {effect: write}"


def journal(result: Any) -> str:
    return str([r.body for r in result.records])


@pytest.mark.parametrize(("off", "kept"), [("", False), ("mode: off", True)])
def test_what_a_person_types_is_kept_without_secrets_and_personal_data(
    tmp_path: Path, off: str, kept: bool
) -> None:
    rules = policy(tmp_path, checks(PRIVATE.replace("{}", f"{{{off}}}")) + TAINT, EFFECTS)
    store = open_store(tmp_path / "home")
    message = f"my key is {TOKEN}, mail me at {MAIL}. " + "word " * 200 + f"or {MAIL}"
    result, model = play(["ok"], message, rules, store=store)
    (run_id,) = store.ids()
    for value in (TOKEN, MAIL):
        assert (value in journal(result)) is kept
        assert (value in store.info(run_id).question) is kept
    assert TOKEN in seen_by(
        model
    )  # the person gave it to the model; a check on input takes it away


def test_a_call_with_what_was_held_back_is_still_the_users_word(tmp_path: Path) -> None:
    paid = Payments()
    pay = [call("pay", to=to, amount=20) for to in (MAIL, "x@example.com")]
    script = [call("read_mail"), *pay, "ok"]
    rules = policy(tmp_path, checks(PRIVATE) + TAINT, EFFECTS)
    result, _ = play(script, f"Pay {MAIL} the 20.", rules, paid.tool())
    assert paid.made == [(MAIL, 20)]
    said = str([r.body for r in result.records if r.kind in ("run_begins", "user_turn")])
    assert MAIL not in said


def test_words_late_in_a_long_message_count(tmp_path: Path) -> None:
    paid = Payments()
    script = [call("read_mail"), call("pay", to="bob", amount=20), "ok"]
    rules = policy(tmp_path, "checks: {}" + TAINT, EFFECTS)
    play(script, "well, " * 300 + "pay bob 20", rules, paid.tool())
    assert paid.made == [("bob", 20)]


def test_a_check_that_fails_keeps_the_text_out(tmp_path: Path) -> None:
    own = "own: {on: [result], action: redact, python: 'tests.adk.test_heavy_checks:raises'}"
    result, _ = play(["ok"], "my word", policy(tmp_path, checks(own)))
    assert "my word" not in str([r.body for r in result.records if r.kind == "run_begins"])


LOOKED: list[str] = []


def looks(text: str) -> bool:
    LOOKED.append(text)
    return False


def test_no_heavy_check_is_asked_about_what_only_the_journal_keeps(tmp_path: Path) -> None:
    own = "own: {on: [result], heavy: true, python: 'tests.adk.test_kept_texts:looks'}"
    placed = rules_for(policy(tmp_path, checks(f"{own}, secrets: {{on: [result]}}")))
    (heavy,) = [p for p in placed if isinstance(p.rule, TextRule) and p.rule.heavy]
    # no policy has a heavy check redact; were one to, it would not be waited for either
    redacts = replace(heavy, rule=replace(heavy.rule, action="redact"))
    screen, error = Screen((*placed, redacts), 0), f"key {TOKEN} was refused"
    for kept in (screen.clean(error), screen.kept(error)[0]):
        assert "was refused" in kept
        assert TOKEN not in kept
    assert LOOKED == []
    asyncio.run(screen.all_say(None, Said(where="result", text="a page")))
    assert "a page" in LOOKED


def test_the_error_of_a_model_is_kept_without_secrets(tmp_path: Path) -> None:
    class Broken(ScriptedModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            raise RuntimeError(f"key {TOKEN} was refused")
            yield

    from roundsman.testing import run_guarded

    rules = policy(tmp_path, checks(PRIVATE))
    agent = LlmAgent(name="clerk", model=Broken(["x"]))
    result = asyncio.run(run_guarded(agent, "hi", rules, catch=True))
    assert "was refused" in journal(result)
    assert TOKEN not in journal(result)


def test_what_is_typed_or_said_live_is_kept_without_secrets(tmp_path: Path) -> None:
    model = StubLive([heard(f"I am {MAIL}"), aloud("hello"), END], [aloud("ok"), END])
    rules = live_checks(PRIVATE.replace("{}", "{on: [result]}"))
    held = hold(tmp_path, model, rules, [b"end", f"key {TOKEN}"], "audio")
    kept = str([r.body for r in held.records])
    assert "[mail address removed]" in kept
    assert MAIL not in kept
    assert TOKEN not in kept
    assert TOKEN in held.sent("content")


# --- later turns of a session a database keeps ----------------------------------------------------

FORBIDDEN = live_checks("politics: {on: [input], phrases: [the election], reply: Only orders.}")
PRICES = live_checks("prices: {on: [reply], patterns: ['[$] ?[0-9]+'], reply: No prices.}")


def later_turn(tmp_path: Path, held: Session, rules: str) -> Watched:
    """A typed turn in the stored session, in what might be another process."""
    file = tmp_path / "policy.yaml"
    file.write_text(rules + "\n")
    model = Watched(["later"])
    agent = LlmAgent(name="clerk", model=model)
    app = guarded(App(name="shop", root_agent=agent), load_policy(file), home=tmp_path / "other")
    sessions = SqliteSessionService(db_path=str(tmp_path / "sessions.db"))
    runner = Runner(app=app, session_service=sessions)
    asyncio.run(runner.run_debug("thanks", session_id=held.stored.id, user_id="u", quiet=True))
    return model


@pytest.mark.parametrize("how", ["typed", "spoken", "reply"])
@pytest.mark.parametrize("live", [False, True], ids=["then typed", "then live"])
def test_a_blocked_live_turn_is_not_sent_by_later_runs_of_its_session(
    tmp_path: Path, how: str, live: bool
) -> None:
    if how == "typed":
        model, said, rules = (
            StubLive([text("fine", False), END]),
            ["of the election?", "hi"],
            FORBIDDEN,
        )
    elif how == "spoken":
        turns = [[heard("who wins the election"), aloud("Well"), END], [aloud("fine"), END]]
        model, said, rules = StubLive(*turns), [b"end", "hi"], FORBIDDEN
    else:
        turns = [[aloud("it costs "), aloud("$ 30"), END], [aloud("fine"), END]]
        model, said, rules = StubLive(*turns), ["what is it?", "hi"], PRICES
    sessions = SqliteSessionService(db_path=str(tmp_path / "sessions.db"))
    mode = "text" if how == "typed" else "audio"
    held = hold(tmp_path, model, rules, said, mode, sessions=sessions)
    if live:
        again = StubLive([text("later", False), END])
        (tmp_path / "b").mkdir()
        hold(tmp_path / "b", again, rules, ["thanks"], sessions=sessions, session=held.stored.id)
        sent = str(again.log)
    else:
        sent = seen_by(later_turn(tmp_path, held, rules))
    assert "thanks" in sent
    assert "election" not in sent
    assert "$ 30" not in sent
    if how != "reply":
        assert "[this message was blocked]" in sent
