"""How many tokens a prompt comes to, learnt from what the server counts."""

from __future__ import annotations

_WORDS, _RESULTS = 2.9, 1.9
"""Characters a token until a reply has told: of instruction, tools and talk, and of tool answers, whose
numbers and names take more tokens than words do (2.0 to 2.6 in the shipped incidents)."""
_LEAST, _MOST_WORDS, _MOST_RESULTS = 1.0, 6.0, 2.4
"""What is learnt stays between these: the next answer may hold more numbers than the last."""
_TO_THE_SAFE_SIDE = 0.93
"""Of the characters that the tokens left are taken to hold."""
_FEWEST = 200  # tokens of a prompt that tells something
_TIGHTER, _TIGHTEST = 0.7, 0.3


class Gauge:
    """Room for tool answers in a context, in characters.

    Instruction and tools are counted apart from tool answers: a prompt that holds none of them yet
    says little of how many tokens they will take.
    """

    def __init__(self) -> None:
        self._words, self._results, self._share = _WORDS, _RESULTS, 1.0

    def tokens(self, others: int) -> int:
        """Tokens of so many characters that are no tool answers."""
        return int(others / self._words)

    def room(self, tokens: int, others: int) -> int:
        """Characters of tool answers that fit into so many tokens beside `others` characters;
        negative when those alone do not."""
        left = int(tokens * self._share) - self.tokens(others)
        return int(left * self._results * _TO_THE_SAFE_SIDE) if left > 0 else left

    def learn(self, others: int, results: int, tokens: int) -> None:
        """Take in what the server counted for a prompt. More tokens than characters cannot be."""
        if not _FEWEST < tokens <= others + results:
            return
        if not results:
            self._words = min(_MOST_WORDS, max(_LEAST, others / tokens))
        elif tokens > self.tokens(others):
            told = results / (tokens - self.tokens(others))
            self._results = min(_MOST_RESULTS, max(_LEAST, told))

    def tighten(self) -> bool:
        """A prompt did not fit after all: take less of the context from now on. False when that has
        been done often enough."""
        self._share *= _TIGHTER
        return self._share > _TIGHTEST
