"""Where the journal's PostgreSQL is: the URL, and errors told without what it keeps secret."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from roundsman.errors import UsageError

_SHAPE = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]*)(?::(?P<port>\d{1,5}))?"
    r"(?:/(?P<dbname>[^@/?#\s]*))?(?:\?(?P<more>[^@#\s]*))?"
)
_SECRET = ("password", "sslpassword", "passfile")
_WAYS_OUT = (  # what the server or the driver says, what to do
    ("permission denied", "as an administrator: create schema roundsman authorization USER"),
    ("connection option", "take that out of ROUNDSMAN_DB"),
    ("SSL", "set ?sslmode=... in ROUNDSMAN_DB to what the server takes"),
    ("password", "set the right password in ROUNDSMAN_DB, PGPASSWORD or ~/.pgpass"),
    ("authentication", "check the user in ROUNDSMAN_DB and the server's pg_hba.conf"),
    ("pg_hba", "let this machine in: the server's pg_hba.conf"),
    ("role", "make that user, or name another one in ROUNDSMAN_DB"),
    ("too many", "raise the server's max_connections, or run fewer workers"),
    ("does not exist", "make it with: createdb; or name another one in ROUNDSMAN_DB"),
    ("read-only", "name the primary server in ROUNDSMAN_DB, not a standby"),
    ("duplicate key", "another process has written to this run; see: roundsman runs list"),
    ("lock timeout", "another process holds it for long; wait for it or end it"),
    ("no space", "make room on the server"),
)
_GENERAL = "see that the server runs and can be reached, or unset ROUNDSMAN_DB to use a file on this machine"


@dataclass(frozen=True)
class Address:
    """A database to connect to. `shown` is its URL without password; `parameters` never go into
    a text."""

    shown: str
    parameters: dict[str, Any] = field(repr=False)

    def explain(self, error: Exception) -> str:
        """One line for an error of the driver, with the way out and without secrets."""
        text = " ".join(str(error).split()) or type(error).__name__
        for name in _SECRET:
            secret = str(self.parameters.get(name) or "")
            if secret:
                text = text.replace(secret, "***")
        text = text[-300:] if len(text) > 300 else text
        low = text.lower()
        out = next((way for sign, way in _WAYS_OUT if sign.lower() in low), _GENERAL)
        return f"{text}; {out}"


def address_of(url: str) -> Address:
    """Read `ROUNDSMAN_DB`.

    Raises:
        UsageError: it is no such URL. The message shows none of it: a password may be anywhere in
            what cannot be read.
    """
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise UsageError(
            f"ROUNDSMAN_DB is no URL of a PostgreSQL database; write {_SHAPE}, with what is special "
            f"in a password as %XX (@ is %40, : is %3A, / is %2F)"
        )
    parts = {k: unquote(v) for k, v in found.groupdict().items() if v and k != "more"}
    if "host" in parts:
        parts["host"] = parts["host"].strip("[]")
    if int(parts.get("port") or 1) not in range(1, 65536):
        raise UsageError(f"ROUNDSMAN_DB names the port {parts['port']}; ports are 1 to 65535")
    more = dict(parse_qsl(found["more"] or "", keep_blank_values=True))
    parameters = more | parts
    user, host = parameters.get("user", ""), parameters.get("host", "")
    port, name = parameters.get("port", ""), parameters.get("dbname", "")
    shown = f"postgresql://{user + '@' if user else ''}{host}{':' + port if port else ''}/{name}"
    return Address(shown, parameters)
