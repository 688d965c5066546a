# ruff: noqa: E501 - a pattern is easier to read whole than folded
"""Personal data: mail addresses, phone numbers, payment cards, bank accounts, national ids.

Numbers count only when their checksum holds (python-stdnum) or the number exists (phonenumbers, after
ITU E.164 and national plans). A national id that is nothing but digits needs a word near it that says so, since
one in ten numbers of a log passes a check digit. Names of people are not looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text

_MAIL = re.compile(
    r"(?<![\w.+-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}(?:@|%40)(?:[\w](?:[\w-]{0,61}[\w])?\.)+[^\W\d_][\w-]{1,62}(?![\w@])"
)
_NUMBER = re.compile(r"\d[\d ().+/-]{5}|[A-Z] ?\d{5}|\d\d[A-Z]\d")
"""What every number that is looked for holds; most texts hold none."""
_DIGITS = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w]|[.,-]\d)")
_ISSUED = re.compile(
    r"3[47]\d{13}|3[068]\d{12}|4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|(?:35|6)\d{14}(?:\d{0,3})"
)
"""First digits and lengths of the card issuers (ISO/IEC 7812)."""
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?!\w)")
_PHONE = re.compile(
    r"(?<![\w.+-])(?:\+|00)\d[\d ().\-/]{6,18}\d(?!\w)|(?<![\w.-])(?:\(\d{3}\) ?|\d{3}-)\d{3}-\d{4}(?![\w-])"
)
_NEAR = 48
"""Characters before a number in which a word may say what it is."""
_SAYS_ID = re.compile(
    r"\b(?:ssn|social security|social insurance|tax(?:payer)? (?:id|number)|tin|itin|nhs|national (?:id|insurance|identity)"
    r"|id(?:entity)? (?:number|no|card)|personal (?:number|code|id)|citizen|passport|steuer\w*|idnr|bsn|burgerservicenummer"
    r"|pesel|nif|nir|s[ée]curit[ée] sociale|dni|cnp|personnummer|f[øo]dselsnummer|cpf|aadhaar|tckn|t\.?c\.? ?kimlik|rut|curp|sin)\b",
    re.IGNORECASE,
)
# (module of stdnum, shape, whether a word must say so)
_NATIONAL: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (module, re.compile(rf"(?<![\w.-])(?:{shape})(?![\w]|[.-]\d)"), told)
    for module, shape, told in (
        ("us.ssn", r"\d{3}-\d{2}-\d{4}", False),
        ("us.ssn", r"\d{9}", True),
        ("br.cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}", False),
        ("br.cpf", r"\d{11}", True),
        ("it.codicefiscale", r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]", False),
        ("es.dni", r"\d{8}-?[A-HJ-NP-TV-Z]", False),
        ("es.nie", r"[XYZ]\d{7}-?[A-Z]", False),
        ("mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d", False),
        ("fr.nir", r"[12] \d{2} \d{2} \d[\dAB] \d{3} \d{3}(?: \d{2})", False),
        ("fr.nir", r"[12]\d{4}\d[\dAB]\d{8}", True),
        ("fi.hetu", r"\d{6}[-+A]\d{3}[\dA-Z]", False),
        ("kr.rrn", r"\d{6}-\d{7}", False),
        ("cl.rut", r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]", False),
        ("ch.ssn", r"756\.\d{4}\.\d{4}\.\d{2}", False),
        ("se.personnummer", r"(?:\d{2})?\d{6}[-+]\d{4}", False),
        ("dk.cpr", r"\d{6}-\d{4}", True),
        ("cn.ric", r"\d{17}[\dX]", True),
        ("in_.aadhaar", r"\d{4} \d{4} \d{4}", False),
        ("in_.aadhaar", r"\d{12}", True),
        ("ie.pps", r"\d{7}[A-W][AHWTX]?", True),
        ("ca.sin", r"\d{3}[- ]\d{3}[- ]\d{3}", True),
        ("be.nn", r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", False),
        ("nl.bsn", r"\d{9}|\d{4}\.\d{2}\.\d{3}", True),
        ("pl.pesel", r"\d{11}", True),
        ("de.idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", True),
        ("gb.nhs", r"\d{3} ?\d{3} ?\d{4}", True),
        ("za.idnr", r"\d{13}", True),
        ("ro.cnp", r"\d{13}", True),
        ("tr.tckimlik", r"\d{11}", True),
        ("pt.nif", r"\d{9}", True),
        ("no.fodselsnummer", r"\d{6} ?\d{5}", True),
        ("bg.egn", r"\d{10}", True),
        ("cz.rc", r"\d{6}/?\d{3,4}", True),
    )
)  # fmt: skip
_NINO = re.compile(r"(?<!\w)(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)")  # fmt: skip


class Personal:
    """Finds personal data."""

    def find(self, text: Text) -> Iterator[Hit]:
        """Every stretch that is personal data, as it is or in a disguise."""
        for view in text.forms():
            for hit in _in(view.text):
                yield Hit(*view.place(hit.start, hit.end), hit.kind)


def _in(raw: str) -> Iterator[Hit]:
    if "@" in raw or "%40" in raw:
        for match in _MAIL.finditer(raw):
            if not match[0].startswith("git@"):  # the address of a repository
                yield Hit(match.start(), match.end(), "mail address")
    if not _NUMBER.search(raw):
        return
    taken: list[tuple[int, int]] = []
    for hit in (*_accounts(raw), *_ids(raw), *_cards(raw), *_phones(raw)):
        if all(hit.end <= a or hit.start >= b for a, b in taken):
            taken.append((hit.start, hit.end))
            yield hit


def _cards(raw: str) -> Iterator[Hit]:
    for match in _DIGITS.finditer(raw):
        digits = re.sub(r"\D", "", match[0])
        if _ISSUED.fullmatch(digits) and len(set(digits)) > 1 and _valid("luhn", digits):
            yield Hit(*match.span(), "card number")


def _accounts(raw: str) -> Iterator[Hit]:
    for match in _IBAN.finditer(raw):
        text = match[0]
        # the shape is greedy: a word after the number may look like more of it
        for end in range(len(text), 14, -1):
            if text[end - 1] != " " and _valid("iban", text[:end]):
                yield Hit(match.start(), match.start() + end, "bank account")
                break


def _ids(raw: str) -> Iterator[Hit]:
    said = [m.end() for m in _SAYS_ID.finditer(raw)]
    for module, shape, told in _NATIONAL:
        if told and not said:
            continue
        for match in shape.finditer(raw):
            near = any(0 <= match.start() - end <= _NEAR for end in said)
            if (near or not told) and _valid(module, match[0]):
                yield Hit(*match.span(), "national id")
    yield from (Hit(*m.span(), "national id") for m in _NINO.finditer(raw))


def _phones(raw: str) -> Iterator[Hit]:
    for match in _PHONE.finditer(raw):
        if _is_phone(match[0]):
            yield Hit(*match.span(), "phone number")


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")


def _valid(module: str, number: str) -> bool:
    return bool(_module(module).is_valid(number))


def _is_phone(text: str) -> bool:
    import phonenumbers  # 60 ms: only who has numbers to look at pays for it

    number = "+" + text[2:] if text.startswith("00") else text
    try:
        parsed = phonenumbers.parse(number, None if number.startswith("+") else "US")
    except phonenumbers.NumberParseException:
        return False
    possible: bool = phonenumbers.is_possible_number(parsed)
    valid: bool = phonenumbers.is_valid_number(parsed)
    return valid if number.startswith("+") else possible
