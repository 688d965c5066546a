"""Text from outside decides nothing: once it is in the context, a write needs a person's word, unless
every argument comes from what the user said, the policy, or is a plain constant.

Detecting an instruction in a text cannot be relied on; where an argument comes from can. After the
separation of trusted and untrusted data in "Defeating Prompt Injections by Design" (Debenedetti et
al., 2025), reduced to the one question that can be answered without following the model's thoughts:
do the values occur in what a trusted person wrote?
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from roundsman.guard.account import Account
from roundsman.guard.checks.text import Text
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.prints import canonical
from roundsman.guard.rules.approval import persons_word
from roundsman.guard.trust import said_print
from roundsman.guard.verdicts import Kind, Verdict

if TYPE_CHECKING:
    from roundsman.policy import Policy


@dataclass(frozen=True)
class Taint:
    """Judges declared writes after untrusted text came in.

    Args:
        declared: tools whose effect the policy declares; others are no business of this rule.
        constants: argument values of a tool that are harmless whoever chose them (canonical JSON).
        expires: seconds an approval holds; None: for ever.
        trusted: tools whose results are as good as the user's own words.
        ask: whether a person is asked; otherwise it is refused.
        said_in: where all values of a call must have been said together: `conversation`, one `message`,
            or one `sentence`. A value the journal does not keep counts as said in any.
    """

    declared: Collection[str]
    constants: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)
    ask: bool = True
    trusted: Collection[str] = ()
    expires: float | None = None
    said_in: str = "message"
    name: ClassVar[str] = "taint"
    layer: ClassVar[str] = "conversation"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        if event.effect not in ("write", "destructive") or event.tool not in self.declared:
            return None
        outside = next((s for s in account.trust.sources if s not in self.trusted), None)
        if outside is None:
            return None
        strange, why = self._against(account, event)
        if not why:
            return None
        why = f"{event.tool}: {why} (results of {outside} came in); {_TAKEN}"
        if self.ask:
            return persons_word(account, event, why, self.expires, self.name, self.layer)
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers={"args": strange})

    def _against(self, account: Account, event: ActionBegins) -> tuple[list[str], str]:
        """(arguments, what speaks against this call); empty when all of it is the user's or the policy's
        word."""
        words, constants = account.trust.words, self.constants.get(event.tool)
        quoted, strange, vouched = list[Any](), list[str](), constants is not None
        for arg, value in event.args.items():
            known = set((constants or {}).get(arg, ()))
            for leaf in _leaves(value):
                if canonical(leaf) in known or self._held(account, leaf):
                    vouched = True
                elif not _said(leaf, words):
                    strange.append(str(arg))
                elif str(leaf).strip():
                    quoted.append(leaf)
        if strange:
            strange = list(dict.fromkeys(strange))
            return strange, f"{', '.join(strange)} may come from a text that nobody vouches for"
        if not quoted:
            return [], "" if vouched else "it has no argument by which anybody asked for it"
        if any(all(_said(leaf, part) for leaf in quoted) for part in self._parts(words)):
            return [], ""
        return [], f"its values were not said in one {self.said_in}"

    def _held(self, account: Account, leaf: Any) -> bool:
        held_back = account.trust.held_back
        return bool(held_back) and said_print(account.run_id, str(leaf)) in held_back

    def _parts(self, words: str) -> list[str]:
        if self.said_in == "conversation":
            return [words]
        if self.said_in == "message":
            return words.split("\n")
        return _END_OF_SENTENCE.split(words)


_BRING_TEXT = frozenset({"load_artifacts"})
"""The engine's own tools that bring in what somebody else may have written."""
_TAKEN = "only what the user said or the policy names is taken without asking"
_END_OF_SENTENCE = re.compile(r"\n|(?<=[.!?;])\s+")
_BEFORE = re.compile(r"(?:^|[\s\"'`“‘(\[{<,;=])$")
_AFTER = re.compile(r"(?:$|[\s\"'`”’)\]}>,;]|[.:!?](?:$|[\s\"')]))")
"""What may stand beside a value that was said: a blank, a quote, a bracket, the end of a sentence. Anything
else and it was part of another value: 5 is not said in 500, nor / in /tmp/cache."""


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield value


def _said(value: Any, words: str) -> bool:
    """Whether the user wrote this value, as whole words."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    plain = unicodedata.normalize("NFC", str(value))
    text = " ".join(Text(plain).seen.text.split())
    if isinstance(value, bool):
        return False  # a flag is a decision, and nobody can quote it
    if text != " ".join(plain.casefold().split()):
        return False  # it only looks like what was said: the tool would get something else
    if not any(c.isalnum() for c in text):
        return not text
    at = words.find(text)
    while at >= 0:
        end = at + len(text)
        if _BEFORE.search(words[max(0, at - 1) : at]) and _AFTER.match(words[end : end + 2]):
            return True
        at = words.find(text, at + 1)
    return False


def taint_rule(policy: Policy) -> Taint:
    """The rule as a policy describes it."""
    from roundsman.guard.rules import FRAMEWORK_TOOLS

    taint = policy.conversation.taint
    constants = {
        tool: {arg: frozenset(map(canonical, values)) for arg, values in args.items()}
        for tool, args in taint.constants.items()
    }
    declared = frozenset(n for n, t in policy.tools.allow.items() if "effect" in t.model_fields_set)
    trusted = (FRAMEWORK_TOOLS - _BRING_TEXT) | set(taint.trusted_tools)
    ask = taint.on_untrusted == "ask"
    return Taint(declared, constants, ask, trusted, policy.tools.approval_expires, taint.said_in)
