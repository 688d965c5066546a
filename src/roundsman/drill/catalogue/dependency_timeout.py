"""The checkout becomes slow; the gateway, which waits for it, is where the errors are."""

from __future__ import annotations

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_PATCH = (
    """    write_receipt(order, customer, lines)
    return order
""",
    """    write_receipt(order, customer, lines)
    time.sleep(0.4)  # the printer needs a moment before its queue can be read
    return order
""",
)


class DependencyTimeout(Drill):
    """A blocking wait holds up everything else an instance does; nothing fails in it."""

    name = "dependency-timeout"
    about = "a service blocks while it waits, and the one that calls it times out"

    def inject(self, lab: Lab) -> None:
        lab.deploy(lab.checkout, "v1.5.0", "read the printer's queue", patches=[_PATCH])

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, "v1.5.0", "blocking_call",
            f"{self.names.checkout} sleeps in its event loop; {self.names.gateway} times out",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            recording.appears(names.gateway, "timed out", 20),
            recording.rises(names.gateway, 'upstream_failures_rate{reason="timeout"', 1),
            recording.rises(names.checkout, "http_request_duration_p50", 0.4),
            recording.errors(0.2),
            recording.alert(),
        ]
