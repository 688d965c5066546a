"""What a change could bring about, read from its diff: in several languages, and no more than that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.analysis.effects import effects
from roundsman.analysis.harmless import harmless
from roundsman.analysis.patches import altered, parse_patch
from roundsman.analysis.settings import setting_effects


def patch(*lines: str, file: str = "app/orders.py") -> str:
    return "\n".join([f"--- a/{file}", f"+++ b/{file}", "@@ -1,4 +1,5 @@ def place():", *lines])


def explained(text: str) -> set[str]:
    return {kind for one in effects(parse_patch(text)) for kind in one.explains}


def kinds(text: str) -> list[str]:
    return [one.kind for one in effects(parse_patch(text))]


@pytest.mark.parametrize(
    ("lines", "trouble"),
    [
        (["+SEEN = {}", " def f(x):", "+    SEEN[x.id] = x"], "memory"),
        (["+var seen []Event", " func f(e Event) {", "+\tseen = append(seen, e)"], "memory"),
        (["+const seen = new Map();", " function f(e) {", "+  seen.set(e.id, e);"], "memory"),
        ([" for x in xs:", "+    y = db.query(x)", " return"], "queries"),
        ([" for (const x of xs) {", "+  await fetch(url + x);", " }"], "queries"),
        (["-    with lock:", "+    if True:", "     n += 1"], "race"),
        (["-\tmu.Lock()", "-\tdefer mu.Unlock()", " \tn++"], "race"),
        (["-    if user is None:", "-        return None", "     return user.name"], "panic"),
        (["-  if (user == null) { return; }", "   return user.name"], "panic"),
        (["+    time.sleep(2)"], "latency"),
        (["+    Thread.sleep(2000);"], "latency"),
        (["-        conn.close()", "     return rows"], "pool"),
        (["-TIMEOUT = 5.0", "+TIMEOUT = 0.2"], "timeout"),
        (["-  timeout: 30s", "+  timeout: 300ms"], "timeout"),
        (["-max_connections = 50", "+max_connections = 5"], "pool"),
        (["-  log_level: info", "+  log_level: debug"], "disk"),
        (['-  "log_level": "info"', '+  "log_level": "debug"'], "disk"),
        (["+ALTER TABLE orders DROP COLUMN note;"], "missing"),
        (['+    run("SELECT id FROM invoices_v2")'], "missing"),
        (['-    "title": text,', '+    "name": text,'], "missing"),
        (["-LEEWAY = 60", "-    if exp + LEEWAY < now:", "+    if exp < now:"], "rejected"),
        (['-HOST = "db-1.internal"', '+HOST = "db-2.internal"'], "connection"),
    ],
)
def test_a_sign_in_the_diff_explains_its_trouble(lines: list[str], trouble: str) -> None:
    found = explained(patch(*lines))
    assert trouble in found if trouble else not found


@pytest.mark.parametrize(
    "lines",
    [
        ["+CACHE = LRU(maxsize=100)", "+    CACHE[x.id] = x"],
        ["+seen = {}", "+    seen[x] = 1", "+    seen.pop(oldest)"],
        ["-    conn.close()", "+    pool.release(conn)"],
        ["-    if a is None:", "+    if a is None or b is None:"],
        ["-\tif err != nil {", "-\t\thttp.Error(w, err)", "+\tif err != nil {", "+\t\twriteError(w, err)"],
        ["+    total = sum(xs)"],
    ],
)  # fmt: skip
def test_what_is_bounded_given_back_or_kept_is_no_sign(lines: list[str]) -> None:
    assert kinds(patch(*lines)) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (patch("-.a { color: #fff; }", "+.a { color: #000; }", file="web/a.css"), "styles"),
        (patch("-\tgithub.com/a/b v1.2.3", "+\tgithub.com/a/b v1.2.4", file="go.mod"), "libraries"),
        (patch("-# old words", "+# new words"), "comments"),
        (patch("-a = load(x)", "-b = keep(a)", "+def f(x):", "+    a = load(x)", "+    b = keep(a)"),
         "elsewhere"),
    ],
)  # fmt: skip
def test_a_change_that_cannot_break_anything_says_why(text: str, why: str) -> None:
    assert why in harmless(parse_patch(text))


def test_a_change_with_an_effect_is_not_called_harmless() -> None:
    text = patch("-a = load(x)", "-b = keep(a)", "-TIMEOUT = 9", "+TIMEOUT = 1", "+a = load(x)",
                 "+b = keep(a)")  # fmt: skip
    assert harmless(parse_patch(text)) == ""
    assert harmless(parse_patch(""), "docs: say more") != ""
    assert harmless(parse_patch(""), "make it faster") == ""


@pytest.mark.parametrize(
    ("key", "before", "after", "trouble"),
    [
        ("POOL_SIZE", 4, 20, "pool"),
        ("poolSize", 20, 2, "pool"),
        ("LOG_EVERY", 10, 15, ""),
        ("LOG_EVERY", 10, 1, "disk"),
        ("LOG_LEVEL", "info", "debug", "disk"),
        ("LOG_LEVEL", "debug", "info", ""),
        ("HELP_TEXT", "Please try again.", "Please try again soon.", ""),
        ("request_timeout", 5, 0.3, "timeout"),
        ("memory_limit", 512, 256, "memory"),
        ("new_checkout", "off", "on", "error"),
        ("UPSTREAM_URL", "http://a", "http://b", "connection"),
        ("POOL_SIZE", 4, 4, ""),
    ],
)
def test_a_setting_is_read_by_its_subject_and_direction(
    key: str, before: object, after: object, trouble: str
) -> None:
    found = {kind for _, some in setting_effects(key, before, after) for kind in some}
    assert trouble in found if trouble else not found


def test_units_are_compared_not_digits() -> None:
    pairs = altered(parse_patch(patch("-t(ctx, 5*time.Second)", "+t(ctx, 300*time.Millisecond)")))
    assert [(one.low, one.high) for one in pairs] == [(5.0, 0.3)]
    assert altered(parse_patch(patch("-wait = 1000ms", "+wait = 1s"))) == []


@given(st.text(max_size=400))
def test_no_text_breaks_the_reading(text: str) -> None:
    read = parse_patch(text)
    effects(read)
    harmless(read, text)


@given(
    st.lists(
        st.sampled_from(["+for x in y:", "+  ask(x)", "-lock()", " {", "+A = {}", "-if a is None:"])
    )
)
def test_no_order_of_lines_breaks_the_reading(lines: list[str]) -> None:
    found = effects(parse_patch(patch(*lines)))
    assert len({one.kind for one in found}) == len(found)
