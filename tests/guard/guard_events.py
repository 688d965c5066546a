"""Invented events for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from roundsman.guard import events as ev

IDS = st.sampled_from(["x1", "x2", "x3"])
WITHIN = st.sampled_from(["", "x1"])
AGENTS = st.sampled_from(["alpha", "beta"])
PLACE = st.sampled_from(["", "wf@1/a@1", "wf@1#b"])
TOOLS = st.sampled_from(["read_sensor", "turn_valve"])
COUNT = st.integers(0, 5000)
MONEY = st.floats(0, 5)
TEXT = st.text(max_size=12)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ARGS = st.dictionaries(TEXT, JSON, max_size=3)
EFFECT = st.sampled_from(["read", "poll", "write", "destructive"])
STATUS = st.sampled_from(["ok", "empty", "error", "blocked", "unknown"])
PRICES = st.none() | st.tuples(MONEY, MONEY, MONEY)
CHANGES = st.lists(st.fixed_dictionaries({"arg": TEXT, "from": JSON, "to": JSON}), max_size=2)
AT = st.floats(1, 1e9)


def _made(cls: Any, **parts: Any) -> st.SearchStrategy[ev.Event]:
    return st.builds(cls, at=AT, **parts)


EVENTS: dict[str, st.SearchStrategy[ev.Event]] = {
    "run_begins": _made(ev.RunBegins, run_id=TEXT, policy=TEXT, question=TEXT),
    "run_resumes": _made(ev.RunResumes),
    "run_ends": _made(ev.RunEnds, reason=TEXT, rule=TEXT, detail=TEXT),
    "round_begins": _made(ev.RoundBegins, index=st.integers(1, 9)),
    "round_ends": _made(
        ev.RoundEnds, index=st.integers(1, 9), new=st.integers(0, 3), held=st.integers(0, 9),
        done=st.booleans(), readable=st.booleans(), timed_out=st.booleans(), answer=ARGS,
    ),
    "step_begins": _made(
        ev.StepBegins, id=IDS, agent=AGENTS, within=WITHIN, place=PLACE, model=TEXT,
        request=TEXT, prompt_tokens=COUNT,
        max_output_tokens=st.none() | COUNT, reserved_tokens=COUNT, reserved_usd=MONEY,
        prices=PRICES,
    ),
    "step_ends": _made(
        ev.StepEnds, id=IDS, agent=AGENTS, tokens=COUNT, usd=MONEY, estimated=st.booleans(),
        error=TEXT, reply=JSON, calls=st.none() | st.integers(0, 3), said=TEXT,
        announces=st.booleans(),
    ),
    "action_begins": _made(
        ev.ActionBegins, id=IDS, within=WITHIN, place=PLACE, tool=TOOLS, args=ARGS,
        agent=AGENTS, effect=EFFECT, call=TEXT,
        gist=TEXT, alters=st.sampled_from(["", "seems", "declared"]),
    ),
    "action_waits": _made(
        ev.ActionWaits, id=IDS, tool=TOOLS, key=TEXT, behind=st.lists(IDS, max_size=2).map(tuple)
    ),
    "action_ends": _made(
        ev.ActionEnds, id=IDS, tool=TOOLS, status=STATUS, call=TEXT, print=TEXT, effect=EFFECT,
        shape=TEXT, fault=TEXT, ran=st.booleans(), agent=AGENTS,
        result=JSON,
    ),
    "action_settled": _made(
        ev.ActionSettled, id=IDS, decision=st.sampled_from(["done", "not_done", "again"]), by=TEXT
    ),
    "agent_enters": _made(
        ev.AgentEnters, agent=AGENTS, chain=st.lists(AGENTS, max_size=3).map(tuple)
    ),
    "plan_made": _made(ev.PlanMade, agent=AGENTS, within=WITHIN, steps=TEXTS),
    "plan_marked": _made(
        ev.PlanMarked, agent=AGENTS, within=WITHIN, number=st.integers(-1, 4), note=TEXT,
        state=st.sampled_from(["done", "failed"]),
    ),
    "plan_revised": _made(
        ev.PlanRevised, agent=AGENTS, within=WITHIN, steps=TEXTS, failures=TEXTS
    ),
    "line_drawn": _made(
        ev.LineDrawn, agent=AGENTS, within=WITHIN, criteria=TEXTS, ends_run=st.booleans(),
        steps=st.none() | st.integers(1, 9), fresh=st.booleans(),
    ),
    "reported": _made(
        ev.Reported, agent=AGENTS, within=WITHIN, complete=st.booleans(), summary=TEXT,
        undone=TEXTS, ends_run=st.booleans(), forced=st.booleans(),
    ),
    "user_turn": _made(ev.UserTurn),
    "chance": _made(
        ev.Chance, what=st.sampled_from(["time", "random"]), name=TEXT, value=st.floats(0, 1),
    ),
    "asked": _made(
        ev.Asked, id=IDS, about=st.sampled_from(["limit", "action", "engine"]), subject_id=IDS,
        agent=AGENTS, tool=TOOLS, args=ARGS, digest=st.sampled_from(["", "d1", "d2"]),
        limits=st.lists(st.sampled_from(["tokens", "steps"]), max_size=2).map(tuple),
        rule=TEXT, reason=TEXT,
    ),
    "answered": _made(
        ev.Answered, id=IDS, by=TEXT, note=TEXT,
        decision=st.sampled_from(["", "approve", "deny", "grant", "finish"]),
        granted=st.dictionaries(st.sampled_from(["tokens", "usd"]), st.floats(allow_nan=False), max_size=2),
    ),
    "ruled": _made(
        ev.Ruled, verdict=st.sampled_from(["amend", "ask", "refuse", "cut", "stop"]), rule=TEXT,
        layer=TEXT, reason=TEXT, stop=TEXT, subject=TEXT, subject_id=IDS, numbers=ARGS,
        changes=CHANGES.map(tuple), applied=st.booleans(), within=WITHIN, place=PLACE,
    ),
}  # fmt: skip

ANY_EVENT = st.one_of(*EVENTS.values())
