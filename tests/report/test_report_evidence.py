"""Which three pieces of evidence come first, and what is said of each."""

from __future__ import annotations

from typing import Any

from roundsman.report.view import build


def top(evidence: list[dict[str, Any]], *cited: tuple[str, list[str]]) -> list[tuple[str, str]]:
    """(what is said, the line to paste) of the pieces on the first screen."""
    findings = [{"statement": s, "evidence": ids, "grounded": True} for s, ids in cited]
    cause = {"statement": "it broke", "since": "2026-11-30T03:00:25Z"}
    report = {"cause": cause, "findings": findings, "evidence": evidence}
    return [(one.statement, one.query) for one in build(report).top]


def piece(name: str, **more: Any) -> dict[str, Any]:
    row = '{"service": "api", "metric": "errors", "points": 56}'
    return {"id": name, "tool": "t", "status": "ok", "query": "wide", "excerpt": row, **more}


SHOWS = {"shows": "api errors went from 1 to 9 at 2026-11-30T03:00:25Z", "shows_query": "narrow"}
WORDS = "api errors went from 1 to 9 at 03:00:25 UTC"


def test_a_second_support_of_one_claim_says_in_words_what_it_shows() -> None:
    both = [piece("a1"), piece("a2", **SHOWS)]
    assert top(both, ("errors rose", ["a1", "a2"])) == [("errors rose", "wide"), (WORDS, "narrow")]


def test_evidence_that_nobody_cites_says_what_it_shows_with_the_line_for_it() -> None:
    assert top([piece("a1", **SHOWS)]) == [(WORDS, "narrow")]


def test_the_same_is_not_said_twice() -> None:
    same = [piece("a1", **SHOWS), piece("a2", **SHOWS), piece("a3", shows="something else")]
    assert [said for said, _ in top(same)] == [WORDS, "something else"]
    plain = [piece(f"a{n}") for n in range(1, 4)]
    (once,) = top(plain)
    assert once[0].startswith("service: api, metric: errors")
    said = [said for said, _ in top(plain, ("errors rose", ["a1", "a2", "a3"]))]
    assert said == ["errors rose", once[0]]


def test_three_pieces_that_differ_fill_the_screen_where_some_say_the_same() -> None:
    rows = [piece(f"a{n}", shows=f"shows {n // 2}") for n in range(10)]
    assert [said for said, _ in top(rows)] == ["shows 0", "shows 1", "shows 2"]
