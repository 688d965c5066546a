"""Headers for a server. Secrets come from the environment (`Authorization: Bearer ${TOKEN}`): what is shown,
stored or raised holds the variable's name, never its value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from roundsman.errors import SourceError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TEMPLATE = re.compile(r"(?:[A-Za-z0-9 ._~+/=:,;@-]|\$\{[A-Za-z_][A-Za-z0-9_]*\})+")
_SECRET = re.compile(r"auth|token|key|cookie|secret|passw|credential", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9-]+")
_SHORTEST_SECRET = 6  # what is shorter stands in texts by chance


@dataclass(frozen=True)
class Header:
    """A header for requests to one host; `template` holds variables as `${NAME}`, never a secret."""

    host: str
    name: str
    template: str

    def value(self) -> str:
        """With the variables put in. Raises SourceError naming one that is not set."""

        def put(match: re.Match[str]) -> str:
            found = os.environ.get(match[1], "")
            if not found:
                raise SourceError(f"header {self.name} for {self.host}: ${match[1]} is not set")
            if not found.isascii() or not found.isprintable():
                raise SourceError(
                    f"header {self.name} for {self.host}: ${match[1]} holds a line break or other "
                    "characters that no header may have"
                )
            return found

        return _VARIABLE.sub(put, self.template)

    def secrets(self) -> list[str]:
        """What the variables hold, without the words around them."""
        held = (os.environ.get(name, "") for name in _VARIABLE.findall(self.template))
        return [one for one in held if len(one) >= _SHORTEST_SECRET]

    def __str__(self) -> str:
        return f"{self.name}: {self.template}"


def parse_header(text: str) -> Header:
    """`HOST[:PORT]=Name: value with ${VARIABLES}`.

    Raises SourceError; a secret written out is refused, and not repeated.
    """
    host, mark, line = text.partition("=")
    name, colon, template = line.partition(":")
    host, name, template = host.strip().lower(), name.strip(), template.strip()
    if not mark or not colon or not host or "/" in host or not _NAME.fullmatch(name):
        raise SourceError("--header: expected 'HOST=Name: value', as in "
                          "'metrics.example.org=Authorization: Bearer ${TOKEN}'")  # fmt: skip
    if _SECRET.search(name) and not _VARIABLE.search(template):
        raise SourceError(
            f"--header for {host}: {name} must take its value from the environment, as in "
            f"'{host}={name}: Bearer ${{TOKEN}}'; a secret on the command line can be seen by others"
        )
    if not _TEMPLATE.fullmatch(template):
        raise SourceError(
            f"--header for {host}: the value of {name} may hold letters, digits, ._~+/=:,;@- and "
            "${VARIABLES}; put anything else into a variable"
        )
    return Header(host, name, template)


def masked(text: str, values: Iterable[str]) -> str:
    """The text without these header values, whole or in words: a server that repeats a key leaves out
    the word before it."""
    words = {word for value in values for word in (value, *value.split()) if len(word) > 3}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, "***")
    return text
