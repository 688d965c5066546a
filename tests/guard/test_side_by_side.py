"""Agents side by side do not know of each other: what each does is judged by itself. What came before
is known to what follows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.guard import Account, Kind, Placed, Verdict, apply, decide
from roundsman.guard import events as ev
from roundsman.guard.gist import gist
from roundsman.guard.prints import call_prints, result_prints
from roundsman.guard.rules.repetition import OnlyTalk, SimpleRepetition, Stuck
from roundsman.guard.stuck.conversations import MOST
from roundsman.guard.stuck.narration import announces
from roundsman.policy.model import SIGNALS

RESULTS = [Placed(Stuck(SIGNALS, 1.0, 2.0, 3.0, 60.0)), Placed(OnlyTalk(SIGNALS))]
SIMPLE = [Placed(SimpleRepetition(5, 3))]


class Tree:
    """Records of several agents in one account."""

    def __init__(self, rules: list[Placed]) -> None:
        self.rules, self.account, self.ids = rules, Account(), 0
        self.now = 1.0

    def put(self, event: ev.Event) -> str:
        """Judge an event and note it; what was said of it."""
        verdict = decide(self.rules, self.account, event).verdict
        if verdict.kind <= Kind.AMEND:
            self.account = apply(self.account, event)
        if verdict.kind is not Kind.ALLOW:
            self.account = apply(self.account, ruled(verdict, event))
        return verdict.kind.name.lower()

    def id(self, letter: str) -> str:
        self.ids += 1
        return f"{letter}{self.ids}"


def ruled(verdict: Verdict, event: Any) -> ev.Ruled:
    return ev.Ruled(
        at=event.at, verdict=verdict.kind.name.lower(), rule=verdict.rule, layer=verdict.layer,
        stop=verdict.stop, subject=getattr(event, "tool", ""), numbers=verdict.numbers,
        agent=event.agent if hasattr(event, "agent") else "", loop=getattr(event, "loop", ""),
        within=getattr(event, "within", ""), place=getattr(event, "place", ""),
    )  # fmt: skip


class Agent:
    """One agent of the tree. A turn is begun and ended apart, so that turns can overlap."""

    def __init__(self, tree: Tree, place: str, within: str = "", name: str = "worker") -> None:
        self.tree, self.said = tree, list[str]()
        self.at = {"place": place, "within": within}
        self.name = name
        self.open: Any = None
        self.step = ""

    def enters(self) -> None:
        """Its first model call is under way."""
        self.step = self.tree.id("s")
        self.tree.put(ev.StepBegins(at=self.tree.now, id=self.step, agent=self.name, **self.at))

    def begin(self, turn: tuple[Any, ...]) -> None:
        """Ask the model, unless that is under way, and what it asks for."""
        kind, *rest = turn
        if not self.step:
            begun = ev.StepBegins(
                at=self.tree.now, id=self.tree.id("s"), agent=self.name, **self.at
            )
            verdict = self.tree.put(begun)
            if verdict == "stop":
                self.said.append(verdict)
                return
            self.step = begun.id
        text = rest[0] if kind == "say" else ""
        reply = ev.StepEnds(
            at=self.tree.now, id=self.step, agent=self.name, calls=int(kind != "say"),
            said=gist(text), announces=announces(text),
        )  # fmt: skip
        self.tree.put(reply)
        self.step = ""
        if kind == "say":
            self.said.append("allow")
        elif kind == "refused":
            refusal = ev.Ruled(
                at=self.tree.now, verdict="refuse", rule="allowlist", layer="tool",
                subject=rest[0], agent=self.name, **self.at,
            )  # fmt: skip
            self.tree.put(refusal)
            self.said.append("refused")
        else:
            self._ask(*rest)

    def _ask(self, tool: str, args: dict[str, Any], result: Any, effect: str = "read") -> None:
        event = ev.ActionBegins(
            at=self.tree.now, id=self.tree.id("a"), tool=tool, args=args, effect=effect,
            agent=self.name, **call_prints(tool, args, effect), **self.at,
        )  # fmt: skip
        self.said.append(self.tree.put(event))
        if self.said[-1] == "allow":
            self.open = (event, result)

    def end(self) -> None:
        """The result of what it asked for comes back."""
        if self.open is not None:
            event, result = self.open
            self.open = None
            ended = ev.ActionEnds(
                at=self.tree.now, id=event.id, tool=event.tool, call=event.call,
                effect=event.effect, **result_prints(result, "ok"),
            )  # fmt: skip
            if self.tree.put(ended) == "amend":
                self.said[-1] = "warned"

    def turn(self, *turn: Any) -> str:
        self.begin(turn)
        self.end()
        return self.said[-1]


TURNS = st.one_of(
    st.tuples(
        st.just("call"),
        st.sampled_from(["look", "date"]),
        st.sampled_from([{}, {"at": 1}, {"q": "cause of db timeout"}, {"q": "db timeout cause"}]),
        st.sampled_from(["same", "", "00", "01", "Error: no such table", "Error: denied"]),
    ),
    st.tuples(st.just("refused"), st.sampled_from(["restart", "drop"])),
    st.tuples(
        st.just("say"),
        st.sampled_from(["", "done", "I'll write the report.", "Let me write the report."]),
    ),
)
SCRIPTS = st.lists(st.lists(TURNS, min_size=1, max_size=6), min_size=2, max_size=4)


@pytest.mark.parametrize("rules", [RESULTS, SIMPLE], ids=["results", "simple"])
@given(scripts=SCRIPTS, data=st.data())
def test_what_an_agent_does_beside_others_is_judged_as_if_it_were_alone(
    rules: list[Placed], scripts: list[list[Any]], data: st.DataObject
) -> None:
    alone = []
    for script in scripts:
        agent = Agent(Tree(rules), "#p.a")
        for turn in script:
            agent.turn(*turn)
        alone.append(agent.said)
    if any("stop" in said for said in alone):
        return  # a stop ends all of them
    tree = Tree(rules)
    agents = [Agent(tree, f"#p.{n}") for n in range(len(scripts))]
    for agent in agents:
        agent.enters()
    left = [
        [(agent, turn) for turn in script] for agent, script in zip(agents, scripts, strict=True)
    ]
    while any(left):
        agent, turn = data.draw(st.sampled_from([one for one in left if one])).pop(0)
        agent.end()
        agent.begin(turn)
    for agent in agents:
        agent.end()
    assert [agent.said for agent in agents] == alone


def test_three_branches_that_say_the_same_end_nothing() -> None:
    for words in ("I'll write the report now.", "", "done"):
        tree = Tree(RESULTS)
        branches = [Agent(tree, f"#p.{name}", name=name) for name in "abc"]
        for branch in branches:
            branch.enters()
        assert {branch.turn("say", words) for branch in branches} == {"allow"}
        assert Agent(tree, "", name="writer").turn("say", "The report.") == "allow"


def test_agents_that_follow_each_other_are_each_asked_for_their_own_words() -> None:
    tree = Tree(RESULTS)
    for number in range(9):
        assert Agent(tree, f"wf@1/one@{number}").turn("say", "I'll file it under spam.") == "allow"


def test_one_branch_that_only_talks_is_stopped_whatever_the_others_do() -> None:
    tree = Tree(RESULTS)
    talker, busy = Agent(tree, "#p.a"), Agent(tree, "#p.b")
    said = []
    for number in range(4):
        said.append(talker.turn("say", "I'll write the report now."))
        busy.turn("call", "look", {"at": "x" * number}, f"found {'y' * number}")
    assert said == ["allow", "allow", "allow", "stop"]


def test_what_came_before_is_known_to_what_follows() -> None:
    tree = Tree(RESULTS)
    said = [Agent(tree, f"wf@1/a@{n}").turn("call", "look", {"at": 1}, "same") for n in range(4)]
    assert said == ["allow", "warned", "refuse", "stop"]


def test_branches_that_part_never_meet_and_come_back_to_the_trunk() -> None:
    tree = Tree(RESULTS)
    said = [
        Agent(tree, place).turn("call", "look", {"at": 1}, "same")
        for place in ("#p.a", "#p.b", "#p.ab", "#q@1.p.a", "", "#p.a.q.b")
    ]
    assert said == ["allow"] * 4 + ["warned", "refuse"]


def test_what_ran_inside_an_action_is_known_to_its_caller_and_to_the_next() -> None:
    tree = Tree(RESULTS)
    outer, said = Agent(tree, "outer@1"), []
    for number in range(4):
        outer.begin(("call", "inner", {"request": "x" * number}, "nothing found"))
        if outer.open is None:
            said.append(outer.said[-1])
            break
        inner = Agent(tree, "inner@1", within=outer.open[0].id, name="inner")
        said.append(inner.turn("call", "look", {"at": 1}, "same"))
        outer.end()
    assert said == ["allow", "warned", "refuse", "stop"]


def test_agents_inside_two_actions_at_once_do_not_know_of_each_other() -> None:
    tree = Tree(RESULTS)
    outer = [Agent(tree, "outer@1") for _ in range(6)]  # six calls of one reply
    for number, one in enumerate(outer):
        one.begin(("call", "inner", {"request": "x" * number}, f"nothing {'y' * number}"))
    inner = [Agent(tree, "inner@1", within=one.open[0].id, name="inner") for one in outer]
    assert {one.turn("call", "look", {"at": 1}, "same") for one in inner} == {"allow"}


@pytest.mark.parametrize("there", [{"place": "#p.b"}, {"place": "#p.a", "loop": "second"}])
def test_a_round_of_one_loop_is_no_news_to_what_runs_beside_it(there: dict[str, str]) -> None:
    tree = Tree(RESULTS)
    stuck = Agent(tree, "#p.a")
    stuck.at["loop"] = "first"
    said = []
    for index in range(4):
        said.append(stuck.turn("call", "look", {"at": 1}, "same"))
        if said[-1] == "stop":
            break
        begins = ev.RoundBegins(at=1.0, index=index + 1, loop=there.get("loop", "other"))
        tree.account = apply(tree.account, begins)
        other = Agent(tree, there["place"])
        other.at["loop"] = begins.loop
        assert other.turn("call", "look", {"at": 1}, "same") == "allow"
    assert said == ["allow", "warned", "refuse", "stop"]


def test_polls_and_writes_of_one_branch_are_not_those_of_another() -> None:
    tree = Tree(RESULTS)
    branches = [Agent(tree, f"#p.{n}") for n in range(3)]
    for branch in branches:
        branch.enters()
    branches[0].turn("call", "status", {}, "running", "poll")
    branches[0].turn("call", "post", {"text": "done"}, {"status": "ok"}, "write")
    tree.now = 90.0
    for branch in branches[1:]:
        assert branch.turn("call", "post", {"text": "done"}, {"status": "ok"}, "write") == "allow"
        assert branch.turn("call", "status", {}, "running", "poll") == "allow"
    assert branches[0].turn("call", "post", {"text": "done"}, "", "write") == "refuse"


def test_calls_of_code_are_nobodys_words() -> None:
    tree = Tree(RESULTS)
    direct = Agent(tree, "", name="(direct call)")
    assert {direct.turn("say", "") for _ in range(9)} == {"allow"}


@given(st.integers(MOST + 1, MOST + 40))
def test_a_flood_of_conversations_is_forgotten_from_the_oldest_on(count: int) -> None:
    tree = Tree(RESULTS)
    busy = Agent(tree, "busy")
    busy.enters()
    for number in range(count):
        Agent(tree, f"#p.{number}").turn("say", "yes")
    talking = tree.account.stuck.talking
    assert len(talking) == MOST
    assert any(where.place == "busy" for where in talking)  # it is still asked something
