"""The drills there are, one small file each."""

from __future__ import annotations

from difflib import get_close_matches

from roundsman.drill.catalogue.dependency_timeout import DependencyTimeout
from roundsman.drill.catalogue.disk_full import DiskFull
from roundsman.drill.catalogue.expired_certificate import ExpiredCertificate
from roundsman.drill.catalogue.harmless_deploy import HarmlessDeploy
from roundsman.drill.catalogue.healed_blip import HealedBlip
from roundsman.drill.catalogue.leaked_connections import LeakedConnections
from roundsman.drill.catalogue.memory_growth import MemoryGrowth
from roundsman.drill.catalogue.n_plus_one import NPlusOne
from roundsman.drill.catalogue.pool_too_large import PoolTooLarge
from roundsman.drill.catalogue.slow_query import SlowQuery
from roundsman.drill.catalogue.traffic_surge import TrafficSurge
from roundsman.drill.drill import Drill
from roundsman.errors import UsageError

DRILLS: dict[str, type[Drill]] = {
    one.name: one
    for one in (
        PoolTooLarge,
        LeakedConnections,
        SlowQuery,
        NPlusOne,
        MemoryGrowth,
        DependencyTimeout,
        TrafficSurge,
        ExpiredCertificate,
        DiskFull,
        HarmlessDeploy,
        HealedBlip,
    )
}


def find_drill(name: str) -> type[Drill]:
    """The drill of that name. Raises UsageError, with the nearest name, when there is none."""
    if name in DRILLS:
        return DRILLS[name]
    near = get_close_matches(name, list(DRILLS), 1)
    hint = f"did you mean {near[0]!r}?" if near else "there are: " + ", ".join(DRILLS)
    raise UsageError(f"no drill {name!r}; {hint}")
