"""What a round is told: the question, its number, what is confirmed so far. Nothing else, and of very many
findings the newest, so the context does not grow with the rounds."""

from __future__ import annotations

from collections.abc import Sequence

from roundsman.loop.progress import Finding

#: characters of one finding, and of all together, that a round is told
LONGEST, MOST = 400, 6000


def _told(held: Sequence[Finding]) -> list[str]:
    """The newest findings that fit, in their order; how many older ones do not is said."""
    lines: list[str] = []
    left = MOST
    for one in reversed(held):
        text = (
            one.statement if len(one.statement) <= LONGEST else one.statement[: LONGEST - 1] + "…"
        )
        left -= len(text) + 3
        if left < 0:
            break
        lines.append(f"- {text}")
    older = len(held) - len(lines)
    return [*([f"- (and {older} older ones)"] if older else []), *reversed(lines)]


def round_prompt(question: str, index: int, held: Sequence[Finding]) -> str:
    """The prompt of round `index` (from 1)."""
    lines = [f"Incident: {question}", f"Round: {index}"]
    if held:
        lines.append("Confirmed so far (do not repeat these):")
        lines += _told(held)
    else:
        lines.append("Confirmed so far: nothing yet.")
    lines.append(
        'Answer with JSON: {"findings": [{"statement": str, "evidence": [evidence ids]}], '
        '"done": bool}'
    )
    return "\n".join(lines)
