"""A release that keeps every receipt in memory until its process is killed."""

from __future__ import annotations

from collections.abc import Callable

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

_PATCH = (
    """    write_receipt(order, customer, lines)
    return order
""",
    """    write_receipt(order, customer, lines)
    RENDERED[order] = render(order, lines)
    return order
""",
)
_STORE = (
    "async def place_order",
    '''RENDERED: dict[int, bytes] = {}


def render(order: int, lines: list[Any]) -> bytes:
    """A receipt as a picture, kept for when the customer asks for it again."""
    return (f"{order} {lines}".encode() * 40_000)[:900_000]


async def place_order''',
)
_LIMIT = 110 << 20


class MemoryGrowth(Drill):
    """Each instance grows until it reaches its limit, is killed, starts again and grows again."""

    name = "memory-growth"
    about = "a release never lets go of memory; its processes are killed and started again"

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        return Lab(self.names, memory=_LIMIT, say=say)

    def inject(self, lab: Lab) -> None:
        lab.deploy(lab.checkout, "v1.5.0", "keep rendered receipts", patches=[_PATCH, _STORE])

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, "v1.5.0", "memory_leak",
            "every receipt is kept in memory; each instance is killed at its limit",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        return [
            recording.rises(names.checkout, "process_resident_memory_bytes", 85 << 20, factor=1.5),
            recording.appears(names.supervisor, "above its limit", 2),
            recording.appears(names.gateway, f"call of {names.checkout} failed", 2),
        ]
