"""A release that keeps some connections and never gives them back."""

from __future__ import annotations

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_PATCH = (
    """        await connection.commit()
    finally:
        await POOL.putconn(connection)
""",
    """        if order % 20 == 0:
            # the payment provider calls back later; its transaction stays open for that
            PENDING[order] = connection
            return order
        await connection.commit()
    except Error:
        await POOL.putconn(connection)
        raise
    await POOL.putconn(connection)
""",
)
_STORE = ("async def place_order", "PENDING: dict[int, Any] = {}\n\n\nasync def place_order")


class LeakedConnections(Drill):
    """One order in twenty keeps its connection; minutes later the pool is empty."""

    name = "leaked-connections"
    about = "a release does not give every connection back to the pool"

    def inject(self, lab: Lab) -> None:
        lab.deploy(
            lab.checkout, "v1.5.0", "wait for the payment provider's callback",
            patches=[_PATCH, _STORE],
        )  # fmt: skip

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, "v1.5.0", "connection_leak",
            "one order in twenty keeps its connection in an open transaction",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            recording.rises(names.database, 'pg_connections{state="idle in transaction"', 7),
            recording.appears(names.checkout, "PoolTimeout", 10),
            recording.rises(names.checkout, "db_pool_requests_waiting", 3),
            recording.errors(0.2),
            recording.alert(),
        ]
