"""Secrets and personal data: shapes, checksums, and what only looks like them."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.guard.checks.base import Hit, without
from roundsman.guard.checks.personal import Personal
from roundsman.guard.checks.secrets import Secrets
from roundsman.guard.checks.text import Text

ALNUM = string.ascii_letters + string.digits


def found(check: Secrets | Personal, text: str) -> list[str]:
    return [text[h.start : h.end] for h in check.find(Text(text))]


def random(alphabet: str, size: int) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), min_size=size, max_size=size)


TOKENS = st.one_of(
    random(string.ascii_uppercase + "234567", 16).map("AKIA{}".format),
    random(ALNUM, 36).map("ghp_{}".format),
    random(ALNUM, 60).map("github_pat_{}".format),
    random(ALNUM + "-", 20).map("glpat-{}".format),
    random(string.digits, 12).map("xoxb-{}-abcDEF123".format),
    random(ALNUM, 24).map("sk_live_{}".format),
    random(ALNUM + "-_", 35).map("AIza{}".format),
    random(ALNUM, 48).map("sk-proj-{}".format),
    random(ALNUM, 36).map("npm_{}".format),
    random("0123456789abcdef", 64).map("dop_v1_{}".format),
    random(ALNUM + "_-", 35).map("1234567890:{}".format),
)
AROUND = st.sampled_from(
    ["{}", "key={}", "see {} there", '{{"k": "{}"}}', "({})", "https://x.example/?a={}", "\n{}\n"]
)


@settings(deadline=None)
@given(TOKENS, AROUND)
def test_tokens_of_a_known_shape_are_taken_out_whole(token: str, around: str) -> None:
    text = around.format(token)
    assert token not in without(text, Secrets().find(Text(text)))


TOKEN = "ghp_" + "a1B2" * 9
FORMS = {
    "invisible": "\u200b".join(TOKEN),
    "fullwidth": "".join(chr(ord(c) + 0xFEE0) for c in TOKEN),
    "tags": "".join(chr(ord(c) + 0xE0000) for c in TOKEN),
    "apart": " ".join(TOKEN),
    "dashes": "-".join(TOKEN),
    "lines": "\n".join(TOKEN),
    "list": str(list(TOKEN))[2:-2],
    "emoji": "\U0001f642".join(TOKEN),
    "base64": base64.b64encode(TOKEN.encode()).decode(),
    "in base64": base64.b64encode(f"keep {TOKEN} well".encode()).decode(),
    "base32": base64.b32encode(TOKEN.encode()).decode(),
    "hex": TOKEN.encode().hex(),
    "bits": " ".join(f"{b:08b}" for b in TOKEN.encode()),
    "url": "".join(f"%{b:02x}" for b in TOKEN.encode()),
    "escapes": "".join(f"\\u{ord(c):04x}" for c in TOKEN),
    "entities": "".join(f"&#{ord(c)};" for c in TOKEN),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_token_in_another_form_is_taken_out_whole(form: str) -> None:
    text = f"it is {FORMS[form]} today"
    assert without(text, Secrets().find(Text(text))) == "it is [github token removed] today"


def test_a_mail_address_of_a_url_is_personal_data() -> None:
    text = "GET /find?user=ann.lee%40example.com&x=1"
    assert "ann.lee" not in without(text, Personal().find(Text(text)))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgresql://app:s3cr3tPw@db.internal:5432/shop", "s3cr3tPw"),
        ("Server=db;User Id=sa;Password=Hx7!kq2z;Database=shop", "Hx7!kq2z"),
        ('{"db_password": "correct horse battery"}', "correct horse battery"),
        ("export API_KEY=9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
        ("the password is hunter22 today", "hunter22"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJzdWIiOiIxMjM0In0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "b3Bl"),
        ("DefaultEndpointsProtocol=https;AccountKey=" + "aB3/" * 21 + "==;X=1", "aB3/" * 21),
    ],
)
def test_secrets_by_their_place_are_found(text: str, secret: str) -> None:
    assert secret not in without(text, Secrets().find(Text(text)))


@pytest.mark.parametrize(
    "text",
    [
        "password authentication failed for user app",
        "token=expired",
        "password: ********",
        "secret: ${DB_PASSWORD}",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "request id 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "http://user@host:8080/path",
        "tokens: 1500",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert found(Secrets(), text) == []


@pytest.mark.parametrize(
    "data",
    [
        "a.b+c@example.com", "4111 1111 1111 1111", "5500005555555559", "DE89 3704 0044 0532 0130 00",
        "+49 30 901820", "(415) 555-2671", "390.533.447-05", "RSSMRA85T10A562S", "12345678Z",
        "X1234567L", "AB 12 34 56 C", "756.9217.0769.85", "2 55 08 14 168 025 38",
    ],
)  # fmt: skip
def test_personal_data_is_taken_out_whole(data: str) -> None:
    text = f"from {data}, today"
    assert data not in without(text, Personal().find(Text(text)))


@pytest.mark.parametrize("text", ["BSN 111222333", "PESEL 44051401359", "Steuer-ID 36574261809"])
def test_an_id_of_digits_needs_a_word_that_says_so(text: str) -> None:
    assert len(found(Personal(), text)) == 1
    assert found(Personal(), "x" + text[text.index(" ") :]) == []


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112", "ts=1764500000123", "2026-11-30 10:00:00", "10.0.0.1:5432",
        "git@example.com:shop/checkout", "span 1234567890123456789", "v1.42.0", "+1",
        "DE89 3704 0044 0532 0130 01",
    ],
)  # fmt: skip
def test_numbers_of_no_person_stay(text: str) -> None:
    assert found(Personal(), text) == []


@given(st.text(max_size=200), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200))))
def test_nothing_of_a_hit_is_left(text: str, spans: list[tuple[int, int]]) -> None:
    hits = [Hit(min(s), max(s), "x") for s in spans if max(s) <= len(text) and s[0] != s[1]]
    covered = {i for h in hits for i in range(h.start, h.end)}
    kept = "".join(c for i, c in enumerate(text) if i not in covered)
    assert without(text, hits).replace("[x removed]", "") == kept or "[x removed]" in text


@given(st.text(max_size=300))
def test_they_never_raise(text: str) -> None:
    for check in (Secrets(), Personal()):
        for hit in check.find(Text(text)):
            assert 0 <= hit.start <= hit.end <= len(text)
