"""What the services of a drill are called. Renaming them shows that no rule knows the names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from roundsman.errors import UsageError

_GOOD = re.compile(r"[a-z][a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Names:
    """gateway calls checkout, checkout uses the database; host is the machine."""

    gateway: str = "shop-gateway"
    checkout: str = "checkout-api"
    database: str = "orders-db"
    host: str = "lab-host"
    supervisor: str = "supervisor"


def renamed(pairs: Iterable[str]) -> Names:
    """Names with `role=name` applied. Raises UsageError for an unknown role or an odd name."""
    roles = [field.name for field in fields(Names)]
    names = Names()
    for pair in pairs:
        role, mark, name = pair.partition("=")
        if not mark or role not in roles:
            raise UsageError(
                f"--name {pair}: expected ROLE=NAME with ROLE one of {', '.join(roles)}"
            )
        if not _GOOD.fullmatch(name):
            raise UsageError(
                f"--name {pair}: a name is lower case letters, digits and -, as in my-api"
            )
        names = replace(names, **{role: name})
    used = [getattr(names, role) for role in roles]
    if len(set(used)) < len(used):
        raise UsageError("--name: two services cannot have the same name")
    return names
