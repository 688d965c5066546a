"""What looks frightening and is none: nobody suffers, or no longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.invented.changes import deploy, innocent
from benchmarks.invented.stories import Story, truth
from benchmarks.invented.world import World


def traffic_without_trouble(world: World) -> dict[str, Any]:
    """A deploy, and then twice the requests; nobody suffers."""
    deploy(
        world,
        "left",
        world.onset - 40,
        "campaign page",
        "src/pages/home.ts\n+  { path: '/spring', page: Spring },\n",
    )
    world.rate = world.rate * (1 + 1.3 * world.after(rise=120))
    for role in ("edge", "left", "right"):
        world.own[role] = world.own[role] * (1 + 0.12 * world.after(rise=120))
    world.alert = ("edge", "requests are above forecast", world.onset + 300)
    innocent(world, 1)
    return truth(world) | {"harmless": True}


def talkative_logs(world: World) -> dict[str, Any]:
    """A service begins to log what it always did, at a level that frightens; requests are fine."""
    deploy(
        world,
        "right",
        world.onset - 20,
        "log at warning while we look at prices",
        'pkg/price/price.go\n-\tlog.Debug("no price rule, using default")\n'
        '+\tlog.Warn("no price rule, using default")\n',
    )
    on = world.after()
    world.say("right", "WARN", "no price rule for item {n}, using default", world.moments(1.5, on))
    world.say(
        "edge",
        "ERROR",
        "client went away before the answer was written, request {n}",
        world.moments(0.06, np.ones(world.times.size)),
    )
    world.alert = ("right", "many log lines", world.onset + 300)
    innocent(world, 2, but=("right",))
    return truth(world) | {"harmless": True}


def daily_batch(world: World) -> dict[str, Any]:
    """The daily job runs as it does every day: its processor is busy, others are a little slower."""
    on = world.after(rise=30)
    world.cpu["batch"] = world.cpu["batch"] + 0.6 * on
    world.more["batch"] = 1 + 40 * on
    world.cpu["db"] = world.cpu["db"] + 0.2 * on
    world.own["db"] = world.own["db"] * (1 + 0.35 * on)
    world.say("batch", "INFO", "daily aggregation: part {n} written", world.moments(0.3, on))
    world.alert = ("batch", "processor is busy", world.onset + 300)
    innocent(world, 2, but=("batch",))
    return truth(world) | {"harmless": True}


def rolling_restart(world: World) -> dict[str, Any]:
    """Instances are restarted one by one; a few connections break for two minutes, then all is well."""
    deploy(
        world,
        "left",
        world.onset - 10,
        "same code, new base image",
        "Dockerfile\n-FROM base:12.1\n+FROM base:12.2\n",
    )
    on = world.after(until=110)
    world.fails["left"] = world.fails["left"] + 0.012 * on
    world.add("left", "up", np.where(on > 0, 0.667, 1.0))
    world.say(
        "left",
        "INFO",
        "received SIGTERM, draining {n} requests",
        [world.onset + 35 * k for k in range(3)],
    )
    world.say(
        "edge",
        "ERROR",
        f"connection reset by {world.name('left')}, tried again with success, request {{n}}",
        world.moments(0.08, on),
    )
    innocent(world, 2, but=("left",))
    return truth(world) | {"harmless": True}


HEALTHY: tuple[Story, ...] = (traffic_without_trouble, talkative_logs, daily_batch, rolling_restart)
