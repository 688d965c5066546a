"""A report locks a table for two seconds; it is over before anybody is called."""

from __future__ import annotations

import psycopg

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_SECONDS = 2.0


class HealedBlip(Drill):
    """Orders wait for the lock, some in vain; then all is as before."""

    name = "healed-blip"
    about = "two seconds of errors that end by themselves before the alert"
    harmless = True

    def inject(self, lab: Lab) -> None:
        with psycopg.connect(lab.database.dsn(lab.database.superuser)) as connection:
            connection.execute("SET application_name = 'nightly-report'")
            connection.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            lab.wait(_SECONDS)

    def instead(self, lab: Lab) -> None:
        pass

    def remove(self, lab: Lab) -> None:
        """It has gone by itself."""

    def truth(self) -> Truth:
        return Truth(
            None, None, "healed",
            f"a report held a lock on orders for {_SECONDS:.0f} s; it healed by itself",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        _, lines = recording.lines(names.checkout, "PoolTimeout")
        span = max((one.at for one in lines), default=recording.at) - recording.at
        return [
            recording.appears(names.checkout, "PoolTimeout", 3),
            Check("the errors end by themselves", span < 3 * _SECONDS, f"after {span:.1f} s"),
            recording.rises(names.database, "pg_longest_transaction_seconds", 1.0, factor=1.5),
            recording.quiet(),
        ]
