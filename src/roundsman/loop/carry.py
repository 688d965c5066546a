"""What a round is told: the question, its number, what is confirmed so far. Nothing else, so the
context does not grow with the rounds."""

from __future__ import annotations

from collections.abc import Sequence

from roundsman.loop.progress import Finding


def round_prompt(question: str, index: int, held: Sequence[Finding]) -> str:
    """The prompt of round `index` (from 1)."""
    lines = [f"Incident: {question}", f"Round: {index}"]
    if held:
        lines.append("Confirmed so far (do not repeat these):")
        lines += [f"- {f.statement}" for f in held]
    else:
        lines.append("Confirmed so far: nothing yet.")
    lines.append(
        'Answer with JSON: {"findings": [{"statement": str, "evidence": [evidence ids]}], '
        '"done": bool}'
    )
    return "\n".join(lines)
