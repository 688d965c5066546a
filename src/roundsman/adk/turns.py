"""Who may touch a resource now, who waits, who is refused. Pure and synchronous: no engine, no
event loop, no clock; every call tells whose turn changed.

Turns are drawn in the model's order. Reads of a key overlap; a write is alone on its keys. It is a
first-in-first-out readers-writer lock, with three additions: a call below another (an agent used
as a tool) never waits for what its own callers hold; a wait that could never end is refused; and
while a person decides on a write, later writes of the same reply are refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum


class State(Enum):
    """`DRAWN`: has a place in line, not asked to run yet (a person or a hook may come before).
    `WAITING`: would run. `GOING`: may run. `REFUSED`: never runs. `OVER`: holds nothing."""

    DRAWN = "drawn"
    WAITING = "waiting"
    GOING = "going"
    REFUSED = "refused"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Access:
    """What a call touches: `keys` of None is everything."""

    writes: bool
    keys: frozenset[str] | None = None

    def clashes(self, other: Access) -> bool:
        """Whether the two may not run beside each other."""
        if not (self.writes or other.writes):
            return False
        if self.keys is None or other.keys is None:
            return True
        return not self.keys.isdisjoint(other.keys)

    def shared(self, other: Access) -> str:
        """The keys both touch, as a person reads them."""
        if self.keys is None:
            return "everything" if other.keys is None else ", ".join(sorted(other.keys))
        if other.keys is None:
            return ", ".join(sorted(self.keys))
        return ", ".join(sorted(self.keys & other.keys))


@dataclass(eq=False, slots=True)
class Turn:
    """A place in line. `owner` is the action's id, `call` the engine's id of the call, `batch` what
    the calls of one reply have in common, `parent` the call this one runs below."""

    owner: str
    tool: str
    access: Access
    batch: Hashable = None
    call: str = ""
    parent: Turn | None = None
    number: int = 0
    confirmed: bool = False
    """A person has said yes to this very call."""
    state: State = State.DRAWN
    why: str = ""
    before: set[Turn] = field(default_factory=set)
    """Turns that have to be over first."""
    gates: set[Turn] = field(default_factory=set)
    """Earlier writes of the batch of which it is not known yet whether a person decides."""
    below: set[Turn] = field(default_factory=set)

    def ancestors(self) -> set[Turn]:
        """The calls this one runs below."""
        found, turn = set[Turn](), self.parent
        while turn is not None:
            found.add(turn)
            turn = turn.parent
        return found


class Turns:
    """The line of one run."""

    def __init__(self) -> None:
        self._line: dict[Turn, None] = {}
        self._asked: dict[Hashable, dict[str, Turn]] = {}
        self._drawn = 0

    @property
    def live(self) -> tuple[Turn, ...]:
        """Turns that hold a place, in the order drawn."""
        return tuple(self._line)

    @property
    def asks(self) -> bool:
        """Whether a person decides on any call."""
        return bool(self._asked)

    def undecided(self, batch: Hashable) -> str:
        """Why a further write of this batch is refused: a person has not decided on an earlier
        one. Empty when there is none."""
        first = next(iter(self._asked.get(batch, {}).values()), None)
        return "" if first is None else _undecided(first)

    def decided(self, call: str) -> None:
        """A person has decided on this call."""
        for batch in [b for b, calls in self._asked.items() if call in calls]:
            del self._asked[batch][call]
            if not self._asked[batch]:
                del self._asked[batch]

    def draw(
        self,
        owner: str,
        tool: str,
        access: Access,
        *,
        batch: Hashable = None,
        call: str = "",
        parent: Turn | None = None,
        confirmed: bool = False,
    ) -> Turn:
        """A place at the end of the line, or a turn that is REFUSED and says why."""
        while parent is not None and parent not in self._line:
            parent = parent.parent
        self._drawn += 1
        turn = Turn(owner, tool, access, batch, call, parent, self._drawn, confirmed)
        if self._overtakes(turn):
            return turn
        above = turn.ancestors()
        turn.before = {t for t in self._line if t not in above and t.access.clashes(access)}
        if access.writes:
            turn.gates = {
                t
                for t in self._line
                if t.state is State.DRAWN and t.access.writes and t.batch == batch
            } - above
        if above:
            overtaken = [t for t in turn.before | turn.gates if _leads_to(t, above)]
            for other in overtaken:
                if other.state is State.GOING:
                    return _refuse(turn, _for_ever(turn, other))
            for other in overtaken:
                # it waits for our callers, so we go first: else neither would ever go
                turn.before.discard(other)
                turn.gates.discard(other)
                other.before.add(turn)
        self._line[turn] = None
        if parent is not None:
            parent.below.add(turn)
        return turn

    def arrive(self, turn: Turn) -> list[Turn]:
        """The call would run now. Returns the turns whose state changed."""
        if turn.state is not State.DRAWN:
            return []
        turn.state = State.WAITING
        if self._overtakes(turn):
            return [turn, *self._leave(turn)]
        changed = [t for t in self._line if turn in t.gates]
        for other in changed:
            other.gates.discard(turn)
        return self._go([turn, *changed])

    def ask(self, turn: Turn) -> list[Turn]:
        """A person decides on this call: it holds nothing meanwhile, and the writes of its batch
        that come after it are refused. Returns the turns whose state changed."""
        if turn not in self._line:
            return []
        if turn.access.writes:
            self._asked.setdefault(turn.batch, {})[turn.call] = turn
        turn.state = State.OVER
        line = list(self._line)
        later = [
            t
            for t in line[line.index(turn) + 1 :]
            if turn.access.writes
            and t.access.writes
            and t.batch == turn.batch
            and t.state is State.WAITING
        ]
        for other in later:
            _refuse(other, _undecided(turn))
        changed = list(later)
        for other in [turn, *later]:
            changed += self._leave(other)
        return changed

    def release(self, turn: Turn) -> list[Turn]:
        """The call is over, ran or not; more calls do nothing. Returns the turns that may go."""
        if turn not in self._line:
            return []
        turn.state = State.OVER
        return self._leave(turn)

    def _overtakes(self, turn: Turn) -> bool:
        """Refuse a write that would go before one of its batch on which a person decides."""
        if not turn.access.writes or turn.confirmed:
            return False
        for first in self._asked.get(turn.batch, {}).values():
            if first.number < turn.number:
                _refuse(turn, _undecided(first))
                return True
        return False

    def _leave(self, turn: Turn) -> list[Turn]:
        del self._line[turn]
        if turn.parent is not None:
            turn.parent.below.discard(turn)
        freed = []
        for other in self._line:
            if turn in other.before or turn in other.gates:
                other.before.discard(turn)
                other.gates.discard(turn)
                freed.append(other)
        return self._go(freed)

    def _go(self, turns: Iterable[Turn]) -> list[Turn]:
        gone = []
        for turn in turns:
            if turn.state is State.WAITING and not turn.before and not turn.gates:
                turn.state = State.GOING
                gone.append(turn)
        return gone


def _refuse(turn: Turn, why: str) -> Turn:
    turn.state, turn.why = State.REFUSED, why
    return turn


def _leads_to(start: Turn, goals: set[Turn]) -> bool:
    """Whether `start` cannot be over before one of `goals` is."""
    seen, todo = set[Turn](), [start]
    while todo:
        turn = todo.pop()
        if turn in goals:
            return True
        if turn not in seen:
            seen.add(turn)
            todo += [*turn.before, *turn.gates, *turn.below]
    return False


def _undecided(first: Turn) -> str:
    return (
        f"{first.tool}, asked for before it, waits for a person's decision; ask again when that "
        "is known"
    )


def _for_ever(turn: Turn, other: Turn) -> str:
    return (
        f"it would wait for ever: {other.tool} ({other.owner}) holds "
        f"{turn.access.shared(other.access)} and itself waits for a call around this one"
    )
