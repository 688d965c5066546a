# ruff: noqa: E501 - a pattern is easier to read whole than folded
"""Secrets: tokens with a known shape, private keys, connection strings, and values named as one.

The shapes are those their issuers document. A value that only looks random is no secret by itself (a digest
does, too); it needs a name that says so.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text

_B = r"(?<![A-Za-z0-9_-])"
"""Nothing of the like before it."""
_SHAPES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, tuple(needs.split()), re.compile(pattern))
    for kind, needs, pattern in (
        ("private key", "PRIVATE",
         r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\Z)"),
        ("private key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
        ("aws key", "AKIA ASIA ABIA ACCA", _B + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
        ("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", _B + r"(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255})"),
        ("gitlab token", "gl", _B + r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,}"),
        ("slack token", "xox xapp-", _B + r"(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})"),
        ("webhook", "hooks webhook", r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"
                                     r"|(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}|[\w.-]+\.webhook\.office\.com/webhookb2/[\w@/-]{30,})"),
        ("stripe key", "sk_ rk_ whsec_", _B + r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})"),
        ("google key", "AIza ya29. GOCSPX-", _B + r"(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})"),
        ("model key", "sk- gsk_ hf_ r8_ pplx- xai-",
         _B + r"(?:sk-(?:proj-|ant-|svcacct-|admin-|or-v1-|live-|test-)?[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}"
              r"|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,})"),
        ("package token", "npm_ pypi- rubygems_ oy2 dckr_",
         _B + r"(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|rubygems_[a-f0-9]{40,}|oy2[a-z0-9]{43}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,})"),
        ("mail key", "SG. key- xkeysib- re_ -us", _B + r"(?:SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}|key-[a-f0-9]{32}|xkeysib-[a-f0-9]{64}-\w{16}"
                                             r"|[a-f0-9]{32}-us\d{1,2}(?!\w))"),
        ("telephony key", "SK AC", _B + r"(?:SK|AC)[a-f0-9]{32}(?![A-Za-z0-9])"),
        ("cloud token", "dop_v1_ doo_v1_ dor_v1_ hvs. hvb. s. dp. LTAI AKID shp sq0 EAAA dapi nfp_ fo1_ FlyV1 pul- tfp_ .atlasv1. glsa_ glc_ NRAK- dt0c01. sntrys_ ATATT3 lin_api_ secret_ ntn_ pat PMAK- figd_ sbp_ phc_ phx_ vercel_ CFPAT- 00D rdme_ tskey- ops_ eyJrIjoi",
         _B + r"(?:do[opr]_v1_[a-f0-9]{64}|hv[sbr]\.[A-Za-z0-9_-]{20,}|s\.[A-Za-z0-9]{24}(?![A-Za-z0-9.])|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}"
              r"|LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{50,}"
              r"|dapi[a-f0-9]{32}(?:-\d)?|nfp_[A-Za-z0-9]{36,}|fo1_[A-Za-z0-9_-]{40,}|FlyV1 \S{40,}|pul-[a-f0-9]{40}|tfp_[A-Za-z0-9]{40,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"
              r"|gls?[ac]_[A-Za-z0-9+/=_]{30,}|NRAK-[A-Z0-9]{27}|NRJS-[a-f0-9]{19}|dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}|sntrys_[A-Za-z0-9+/=_-]{40,}|ATATT3[A-Za-z0-9_=-]{50,}"
              r"|lin_api_[A-Za-z0-9]{40}|(?:secret|ntn)_[A-Za-z0-9]{43,}|pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|figd_[A-Za-z0-9_-]{40,}"
              r"|sbp_[a-f0-9]{40}|ph[cx]_[A-Za-z0-9]{32,}|vercel_[A-Za-z0-9]{24}|CFPAT-[A-Za-z0-9_-]{43}|00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}|rdme_[a-z0-9]{70}"
              r"|tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}|ops_eyJ[A-Za-z0-9+/=]{100,}|eyJrIjoi[A-Za-z0-9+/=]{60,})"),
        ("bot token", ":", _B + r"\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
        ("bot token", "M N O", _B + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])"),
        ("jwt", "eyJ", _B + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
        ("storage key", "AccountKey SharedAccess sig= SharedSecret", r"(?i:(?:AccountKey|SharedAccessKey|SharedSecret\w*)=[A-Za-z0-9+/]{20,}={0,2}|[?&]sig=[A-Za-z0-9%+/]{30,}(?:%3D|=)?)"),
        ("signed url", "X-Amz-Signature X-Goog-Signature", r"X-(?:Amz|Goog)-Signature=[a-f0-9]{40,}"),
        ("authorization", "earer asic oken BEARER BASIC", r"(?i:\b(?:bearer|basic|token)[ ]+)(?=[A-Za-z0-9._~+/-]*[0-9+/=_.-])[A-Za-z0-9._~+/-]{16,}={0,2}"),
    )
)  # fmt: skip
_URL = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@'\"<>]{0,100}:(?P<value>[^\s/@'\"<>]{1,200})@[^\s/'\"<>]+",
    re.I,
)
_WORDS = ("passw", "passphrase", "pwd", "secret", "key", "token", "credential", "string", "pin")
_NAMED = re.compile(
    r"(?:passw(?:or)?d|passphrase|pwd|secret|(?:api|access|auth|private|signing|encryption|shared)[_-]?key|token|credentials?"
    r"|connection[_-]?string)[a-z0-9_-]{0,16}"
    r"""(?:\\?["'])?\s{0,3}(?::=|=>|[:=])\s{0,3}(?P<value>\\?"[^"\n]{4,300}?\\?"|'[^'\n]{4,300}'|[^\s,;&"'<>\\)}\]]{4,300})""",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"(?i:\b(?:password|passphrase|secret|api key|token|pin)\b(?:\s+for\s+\S+)?\s+(?:is|was|=)\s+)[\"'`]?(?P<value>[^\s\"'`]{6,100})"
)
_PLACEHOLDER = re.compile(
    r"^(?:[*x•.#_-]{3,}|<.*>|\$\{?.*|\{\{.*|%\(?\w*\)?s?|\[.*\]?|null|none|nil|undefined|true|false|yes|no|empty|unset|required|optional"
    r"|redacted|removed|hidden|masked|changeme|change_me|example|your[_-].*|my[_-]?(?:password|secret|token)|invalid|expired|missing|wrong"
    r"|incorrect|denied|failed|error|string|str|bytes|int|object|function|password|secret|token|process\.env.*|os\.environ.*|env\..*|vault:.*"
    r"|arn:.*|secretkeyref|valuefrom|file:.*|/.*|\d{1,3}|\w+\(.*)$",
    re.IGNORECASE,
)
_SHORTEST = 16
"""Characters of a word that may be a token."""
_ENTROPY_OF_A_WORD = 3.0


class Secrets:
    """Finds secrets; the hit covers the value only, so that the rest can still be read."""

    def find(self, text: Text) -> Iterator[Hit]:
        """Every stretch that is a secret, as it is or in a disguise."""
        for view in text.forms():
            for hit in _in(view.text):
                yield Hit(*view.place(hit.start, hit.end), hit.kind)


def _in(raw: str) -> Iterator[Hit]:
    long = "PRIVATE" in raw or max(map(len, raw.split()), default=0) >= _SHORTEST
    for kind, needs, pattern in _SHAPES if long else ():
        if any(word in raw for word in needs):
            for match in pattern.finditer(raw):
                yield Hit(match.start(), match.end(), kind)
    if "://" in raw and "@" in raw:
        for match in _URL.finditer(raw):
            if not _PLACEHOLDER.match(match["value"]):
                yield Hit(*match.span("value"), "connection string")
    yield from _named(raw)


def _named(raw: str) -> Iterator[Hit]:
    small = raw.lower()
    if not any(word in small for word in _WORDS):
        return
    for pattern in (_NAMED, _SPOKEN):
        for match in pattern.finditer(raw):
            start, end = match.span("value")
            value = match["value"]
            bare = value.strip("\\\"'")
            start, end = start + value.index(bare), start + value.index(bare) + len(bare)
            if bare and not _PLACEHOLDER.match(bare) and _looks_secret(bare, match[0]):
                yield Hit(start, end, "named secret")


def _looks_secret(value: str, match: str) -> bool:
    """A password may be short, but a plain word after `token:` is more likely talk."""
    kinds = sum(bool(re.search(p, value)) for p in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s]"))
    if re.search(r"passw|pwd|passphrase|secret", match[: -len(value)], re.IGNORECASE):
        return kinds >= 2 or len(value) >= 8
    if " " in value:
        return False
    return len(value) >= 16 and kinds >= 2 and entropy(value) >= _ENTROPY_OF_A_WORD


def entropy(text: str) -> float:
    """Shannon entropy of the characters, in bits a character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
