"""Two instances with a pool of 20 each, against a database that serves 17 connections.

How the two share the 17 is a matter of moments. What is certain is that together they hold all of them, so
that whoever needs one more is refused: the entry for the auditors, and an instance that came too late.
"""

from __future__ import annotations

from roundsman.drill.backends.postgres import MAX_CONNECTIONS, RESERVED
from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab


class PoolTooLarge(Drill):
    """The pools take every connection there is."""

    name = "pool-too-large"
    about = "a release asks for more database connections than PostgreSQL serves"

    def inject(self, lab: Lab) -> None:
        lab.deploy(lab.checkout, "v1.5.0", "prepare for the sale", {"POOL_SIZE": 20})

    def truth(self) -> Truth:
        free = MAX_CONNECTIONS - RESERVED
        return Truth(
            self.names.checkout, "v1.5.0", "pool_too_large",
            f"two instances with POOL_SIZE 20 ask for 40 of {free} connections",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            recording.appears(names.database, "remaining connection slots are reserved", 10),
            recording.appears(names.checkout, "checkout failed", 10),
            recording.rises(names.database, "pg_connections", 12, factor=1.3),
            recording.errors(0.15),
            recording.alert(),
        ]
