"""Stories written after the rules were, and measured before any rule was changed for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.invented.changes import deploy, innocent
from benchmarks.invented.stories import Story, truth
from benchmarks.invented.world import World


def slow_provider(world: World) -> dict[str, Any]:
    """A provider outside gets slow."""
    on = world.after(rise=40)
    world.own["right"] = world.own["right"] * (1 + 30 * on)
    world.fails["right"] = world.fails["right"] + 0.1 * on
    said = "GET https://maps.geo.example.net/v1/route timed out after {n} us"
    world.say("right", "ERROR", said, world.moments(0.3, on))
    innocent(world, 3)
    return truth(world, "right")


def key_rotated(world: World) -> dict[str, Any]:
    """A password was changed where it is checked, and not where it is used."""
    on = world.after()
    world.fails["left"] = world.fails["left"] + 0.5 * on
    said = f"password authentication failed for user app at {world.name('db')}, request {{n}}"
    world.say("left", "ERROR", said, world.moments(0.6, on))
    innocent(world, 3)
    return truth(world, "left", "db")


def slow_disk(world: World) -> dict[str, Any]:
    """The disk under the database gets slow."""
    on = world.after(rise=20)
    world.own["db"] = world.own["db"] * (1 + 150 * on)
    world.fails["db"] = world.fails["db"] + 0.05 * world.after(delay=40)
    world.said["db"] = f"query on {world.name('db')} timed out after {{n}} us"
    world.say("db", "WARN", "fsync took {n} us", world.moments(0.2, on))
    innocent(world, 3)
    return truth(world, "db")


def pool_smaller(world: World) -> dict[str, Any]:
    """A deploy makes a pool too small."""
    text = "app.properties\n-db.pool.maxSize=40\n+db.pool.maxSize=3\n"
    env = ({"DB_POOL_MAX": 40}, {"DB_POOL_MAX": 3})
    change = deploy(world, "left", world.onset - 20, "save connections", text, env)
    on = world.after(rise=20)
    world.own["left"] = world.own["left"] * (1 + 20 * on)
    world.fails["left"] = world.fails["left"] + 0.15 * on
    said = "could not get a connection from the pool within {n} us"
    world.say("left", "ERROR", said, world.moments(0.4, on))
    innocent(world, 2, but=("left",))
    return truth(world, "left", change=change)


def query_in_a_loop(world: World) -> dict[str, Any]:
    """A deploy asks for each item by itself."""
    text = (
        "pkg/list/list.go\n-\titems := repo.All(ctx, ids)\n+\tfor _, id := range ids {\n"
        "+\t\titem, err := repo.One(ctx, id)\n+\t\titems = append(items, item)\n+\t}\n"
    )
    change = deploy(world, "right", world.onset - 30, "show related items", text)
    on = world.after(rise=30)
    world.own["right"] = world.own["right"] * (1 + 12 * on)
    world.cpu["right"] = world.cpu["right"] + 0.3 * on
    world.add("db", "queries", world.noisy(70 + 800 * on))
    innocent(world, 2, but=("right",))
    return truth(world, "right", change=change)


def too_many_requests(world: World) -> dict[str, Any]:
    """Seven times the requests, and the services cannot keep up."""
    on = world.after(rise=30)
    world.rate = world.rate * (1 + 6 * on)
    for role in ("edge", "left", "right"):
        world.own[role] = world.own[role] * (1 + 9 * on)
        world.fails[role] = world.fails[role] + 0.1 * on
        world.cpu[role] = world.cpu[role] + 0.5 * on
    innocent(world, 3)
    return truth(world, "edge")


def certificate_expires_soon(world: World) -> dict[str, Any]:
    """Warnings about a certificate that is good for two more weeks."""
    often = world.moments(0.05, np.ones(world.times.size))
    world.say("right", "WARN", "certificate of api expires in 13 days ({n})", often)
    world.alert = ("right", "certificate expires soon", world.onset)
    innocent(world, 2)
    return truth(world) | {"harmless": True}


def scaled_out(world: World) -> dict[str, Any]:
    """Half as many requests again; instances are added, and all is well."""
    on = world.after(rise=120)
    world.cpu["left"] = world.cpu["left"] + 0.2 * on - 0.2 * world.after(delay=300)
    world.say("left", "INFO", "scaled from 3 to 6 instances ({n})", [world.onset + 60])
    world.rate = world.rate * (1 + 0.5 * on)
    world.alert = ("left", "processor is busy", world.onset + 200)
    innocent(world, 2)
    return truth(world) | {"harmless": True}


STRANGERS: tuple[Story, ...] = (
    slow_provider,
    key_rotated,
    slow_disk,
    pool_smaller,
    query_in_a_loop,
    too_many_requests,
    certificate_expires_soon,
    scaled_out,
)
