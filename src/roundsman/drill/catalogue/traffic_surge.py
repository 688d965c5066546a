"""Many more customers at once; nobody changed anything."""

from __future__ import annotations

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_SURGE = 120.0


class TrafficSurge(Drill):
    """More orders than the pool's connections can carry."""

    name = "traffic-surge"
    about = "ten times the customers, and no change at all"

    def inject(self, lab: Lab) -> None:
        self._surge = lab.load(_SURGE)

    def instead(self, lab: Lab) -> None:
        pass

    def remove(self, lab: Lab) -> None:
        lab.supervisor.stop(self._surge)

    def truth(self) -> Truth:
        return Truth(
            self.names.gateway, None, "traffic_surge",
            f"{_SURGE:.0f} more orders a second than the 12 before; nothing was changed",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            # a busy machine answers fewer of them than are sent
            recording.rises(names.gateway, "http_requests_rate", 30, factor=2.5),
            recording.rises(names.checkout, "db_pool_requests_waiting", 5),
            recording.appears(names.gateway, f"call of {names.checkout} failed", 10),
            recording.errors(0.1),
            recording.alert(),
        ]
