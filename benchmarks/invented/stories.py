"""What goes wrong: each story changes a world and says what the right answer is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.invented.changes import deploy, innocent
from benchmarks.invented.world import World
from benchmarks.rca.cases import iso

Story = Callable[[World], dict[str, Any]]


def truth(world: World, *roles: str, change: tuple[str, str] | None = None) -> dict[str, Any]:
    """The right answer: the services in which it is, and the guilty change if one is."""
    out: dict[str, Any] = {"services": [world.name(role) for role in roles], "harmless": False}
    if change:
        out |= {"change": change[0], "commit": change[1]}
    return out


def names_do_not_resolve(world: World) -> dict[str, Any]:
    """The resolver answers SERVFAIL: whoever opens a new connection fails."""
    on = world.after(rise=30)
    for role, share in (("edge", 0.06), ("left", 0.12), ("right", 0.25), ("worker", 0.15)):
        world.fails[role] = world.fails[role] + share * on
        host = world.name("db" if role == "left" else "queue" if role == "worker" else "right")
        said = f"dial tcp: lookup {host}.internal on {world.name('resolver')}: server misbehaving ({{n}})"
        world.say(role, "ERROR", said, world.moments(share, on))
    world.add("resolver", "servfail", world.rng.poisson(0.02 + 6 * on).astype(float))
    world.add("resolver", "rate", world.noisy(np.full(world.times.size, 120.0)))
    world.say(
        "resolver",
        "ERROR",
        "upstream read timeout, answering SERVFAIL for query {n}",
        world.moments(0.3, on),
    )
    innocent(world, 3)
    return truth(world, "resolver")


def provider_certificate(world: World) -> dict[str, Any]:
    """The certificate of a provider outside ran out: one service cannot call it."""
    on = world.after()
    world.fails["right"] = world.fails["right"] + 0.55 * on
    said = "POST https://api.rates.example.org/v2/quote: "
    said += "tls: failed to verify certificate: x509: certificate has expired "
    said += "or is not yet valid (request {n})"
    world.say("right", "ERROR", said, world.moments(0.5, on))
    innocent(world, 3)
    world.traced = True
    return truth(world, "right")


def consumer_stuck(world: World) -> dict[str, Any]:
    """A consumer stands still without an error; its queue grows and grows."""
    on = world.after()
    taken = 12.0
    world.more["worker"] = 1 - 0.98 * on
    world.said["worker"] = ""
    alive = world.moments(0.4, 1 - on)
    world.say("worker", "INFO", "message {n} done in {n} us", alive)
    world.add(
        "queue",
        "depth",
        world.rng.poisson(6, world.times.size) + np.cumsum(taken * on * world.style.step),
    )
    world.add("queue", "consumed", world.noisy(taken * (1 - on) + 1e-3))
    world.add(
        "worker",
        "threads",
        np.round(2 + 6 * world.after(rise=40) + world.rng.normal(0, 0.2, world.times.size)),
    )
    world.alert = ("queue", "backlog is growing", world.onset + 420)
    innocent(world, 2, but=("worker",))
    return truth(world, "worker")


def noisy_neighbour(world: World) -> dict[str, Any]:
    """A job on the same machine takes the processor; a service there gets slow."""
    on = world.after(rise=60)
    world.cpu["batch"] = world.cpu["batch"] + 2.6 * on
    world.more["batch"] = 1 + 30 * on
    world.own["left"] = world.own["left"] * (1 + 7 * on)
    world.fails["left"] = world.fails["left"] + 0.03 * on
    world.add("left", "steal", np.abs(world.noisy(0.01 + 0.45 * on)))
    world.say(
        "left",
        "WARN",
        "request {n} took too long: deadline exceeded after {n} us",
        world.moments(0.25, on),
    )
    world.say(
        "batch", "INFO", "begin full recomputation, 64 threads, part {n}", world.moments(0.05, on)
    )
    innocent(world, 3, but=("batch",))
    return truth(world, "batch")


def flag_flipped(world: World) -> dict[str, Any]:
    """A flag turns on a path that is not ready."""
    on = world.after()
    flag = ("use_bulk_lookup", "seat_map_v3", "rank_with_model", "async_settlement")[
        int(world.rng.integers(4))
    ]
    world.flags.append(
        {
            "timestamp": iso(world.onset - 12),
            "flag": flag,
            "service": world.name("left"),
            "before": False,
            "after": True,
        }
    )
    world.flags.append(
        {
            "timestamp": iso(world.onset - 900),
            "flag": "show_banner",
            "service": world.name("edge"),
            "before": False,
            "after": True,
        }
    )
    world.fails["left"] = world.fails["left"] + 0.2 * on
    said = f"{flag}: KeyError: 'tariff' while building answer {{n}}"
    world.say("left", "ERROR", said, world.moments(0.3, on))
    world.traced = True
    innocent(world, 2)
    return truth(world, "left", change=(flag, ""))


def cache_stampede(world: World) -> dict[str, Any]:
    """The cache drops nearly everything at once; the database gets the whole load and is slow."""
    on = world.after()
    world.add("cache", "hits", np.clip(world.noisy(0.96 - 0.8 * on, 0.01), 0, 1))
    world.add("cache", "evicted", world.rng.poisson(0.2 + 400 * on).astype(float))
    world.add("db", "queries", world.noisy(60 + 900 * world.after(delay=5)))
    world.more["db"] = 1 + 9 * world.after(delay=5)
    world.cpu["db"] = world.cpu["db"] + 0.65 * world.after(delay=5)
    world.own["db"] = world.own["db"] * (1 + 40 * world.after(delay=10, rise=40))
    world.fails["db"] = world.fails["db"] + 0.08 * world.after(delay=40)
    world.said["db"] = f"query on {world.name('db')} timed out after {{n}} us"
    world.say("cache", "WARN", "maxmemory reached, evicting {n} keys", world.moments(0.2, on))
    innocent(world, 3)
    return truth(world, "cache")


def nightly_job(world: World) -> dict[str, Any]:
    """At the full hour a job begins that locks a table others write."""
    world.shift(float(-world.onset % 3600))
    on = world.after(rise=20)
    world.more["batch"] = 1 + 60 * on
    world.cpu["batch"] = world.cpu["batch"] + 0.4 * on
    world.add("db", "locks", world.rng.poisson(0.1 + 25 * on).astype(float))
    world.own["left"] = world.own["left"] * (1 + 25 * world.after(delay=15, rise=30))
    world.fails["left"] = world.fails["left"] + 0.1 * world.after(delay=30)
    world.say(
        "batch",
        "INFO",
        "scheduled run begins: LOCK TABLE orders IN EXCLUSIVE MODE",
        [world.onset + 1],
    )
    world.say("batch", "INFO", "scheduled run: {n} rows rewritten", world.moments(0.2, on))
    world.say(
        "left",
        "ERROR",
        "canceling statement due to lock timeout on relation orders, request {n}",
        world.moments(0.3, world.after(delay=30)),
    )
    innocent(world, 3, but=("batch",))
    return truth(world, "batch")


def zone_is_gone(world: World) -> dict[str, Any]:
    """A third of the instances of everything is lost with a zone; nothing was changed."""
    on = world.after()
    for role, share in (("edge", 0.08), ("left", 0.2), ("right", 0.2)):
        world.fails[role] = world.fails[role] + share * on
        world.add(role, "up", np.where(on > 0, 0.667, 1.0))
    said = "no route to host 10.7.{n}.4 (zone c), marking instance unavailable"
    world.say("edge", "ERROR", said, world.moments(0.5, on))
    world.say("left", "ERROR", said, world.moments(0.3, on))
    world.say(
        "right",
        "WARN",
        "node pool-c-{n} NotReady: kubelet stopped posting node status",
        world.moments(0.05, on),
    )
    innocent(world, 3)
    return truth(world) | {"kind": "node"}


def retry_storm(world: World) -> dict[str, Any]:
    """More attempts with a shorter timeout: the caller drowns what it calls."""
    change = deploy(
        world,
        "edge",
        world.onset - 8,
        "do not give up so early",
        "config/client.yaml\n-  max_attempts: 2\n"
        "+  max_attempts: 12\n-  backoff_ms: 200\n+  backoff_ms: 0\n",
        (
            {"CLIENT_MAX_ATTEMPTS": 2, "CLIENT_BACKOFF_MS": 200},
            {"CLIENT_MAX_ATTEMPTS": 12, "CLIENT_BACKOFF_MS": 0},
        ),
    )
    on = world.after(rise=60)
    world.retries["edge"] = 11 * on
    world.fails["left"] = world.fails["left"] + 0.3 * on
    world.own["left"] = world.own["left"] * (1 + 6 * on)
    world.cpu["left"] = world.cpu["left"] + 0.5 * on
    world.say(
        "left", "WARN", "queue of requests is full, shedding request {n}", world.moments(0.4, on)
    )
    innocent(world, 2, but=("edge",))
    return truth(world, "edge", change=change)


def rate_limit(world: World) -> dict[str, Any]:
    """A limit of a service is set far too low: callers are refused."""
    change = deploy(
        world,
        "right",
        world.onset - 15,
        "protect us from bursts",
        "deploy/values.yaml\n-  requestsPerSecond: 400\n+  requestsPerSecond: 20\n",
        ({"RATE_LIMIT_RPS": 400}, {"RATE_LIMIT_RPS": 20}),
    )
    on = world.after()
    world.fails["right"] = world.fails["right"] + 0.4 * on
    world.said["right"] = f"{world.name('right')} answered 429 Too Many Requests to request {{n}}"
    world.say(
        "right", "WARN", "rate limit exceeded for client edge, request {n}", world.moments(0.4, on)
    )
    innocent(world, 3, but=("right",))
    world.traced = True
    return truth(world, "right", change=change)


def migration_locks(world: World) -> dict[str, Any]:
    """A migration rewrites a large table and holds its lock."""
    change = deploy(
        world,
        "left",
        world.onset - 5,
        "orders get a channel",
        "migrations/0042_channel.sql\n"
        "+ALTER TABLE orders ADD COLUMN channel text NOT NULL DEFAULT upper(random()::text);\n"
        "+CREATE INDEX orders_channel ON orders (channel);\n",
    )
    on = world.after(rise=15)
    world.add("db", "locks", world.rng.poisson(0.1 + 30 * on).astype(float))
    world.own["db"] = world.own["db"] * (1 + 120 * on)
    world.fails["db"] = world.fails["db"] + 0.15 * world.after(delay=20)
    world.said["db"] = (
        "canceling statement due to lock timeout: waiting for AccessShareLock on relation orders ({n})"
    )
    innocent(world, 2, but=("left",))
    return truth(world, "left", "db", change=change)


FAULTS: tuple[Story, ...] = (
    names_do_not_resolve,
    provider_certificate,
    consumer_stuck,
    noisy_neighbour,
    flag_flipped,
    cache_stampede,
    nightly_job,
    zone_is_gone,
    retry_storm,
    rate_limit,
    migration_locks,
)
