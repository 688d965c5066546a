"""`guarded(app, policy)`: three lines and the app is bounded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from google.adk.apps import App

from roundsman.adk.audit import refuse_gaps
from roundsman.adk.chance import refuse_chance
from roundsman.adk.coverage import Coverage
from roundsman.adk.effects_once import ask_the_tools, checks_of
from roundsman.adk.engine import install
from roundsman.adk.hints import quiet_call_limit
from roundsman.adk.kinds import is_node
from roundsman.adk.model_calls import PRICES
from roundsman.adk.plugin import GuardPlugin
from roundsman.adk.scheduler import Scheduler
from roundsman.adk.slips import Names, known_tools, refuse_slips, slips, wanted
from roundsman.adk.summariser import name_summariser
from roundsman.errors import PolicyError, RefusedToStart, SetupChanged, UsageError
from roundsman.guard import rules_for
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.ledger.judging import Operator
from roundsman.policy import Policy, load_policy


def guarded(
    app: App | Any,
    policy: Policy | str | Path = "default",
    *,
    store: Store | None = None,
    home: Path | None = None,
    clock: Callable[[], float] = time.time,
    operator: Operator | None = None,
) -> App:
    """The app, with every model, tool and agent under one policy and one account a run.

    Args:
        app: an ADK `App`, or a root agent (an app of its name is made around it).
        policy: a loaded policy, a preset's name or a file.
        store: where runs are written; by default the store under `home` or `$ROUNDSMAN_HOME`,
            opened when the first run begins.
        clock: seconds since the epoch; tests hand in their own.
        operator: told of an action a person should decide on, and why, where nobody can be waited
            for (a live session); the action is refused.

    An app that is guarded already gets the new policy in place of the old. A name of the policy that
    nothing in the app bears is told as a `PolicyWarning`: something made while it runs may bear it.

    Raises:
        RefusedToStart: a path the guard cannot see, or a node that steers others by a clock or dice
            of its own, or a name of the policy that is a tool's or an argument's misspelled; and
            the policy does not except it.
        PolicyError: the policy cannot be accepted.
        UsageError: `app` is neither an app nor an agent.
    """
    policy, app = _policy(policy), app_of(app)
    coverage = coverage_of(policy)
    found = coverage.audit(app)
    refuse_gaps(found)
    refuse_chance(found.nodes, coverage.excepted)
    refuse_slips(slips(found, policy))
    if policy.conversation.safety_settings == "required":
        refuse_unsafe(found.nodes)
    quiet_call_limit()
    install()
    name_summariser(app)
    PRICES[policy.digest] = cache(lambda name: _prices(name, policy))
    opener = _Opener(policy, store, home, clock)
    # what was left out stays out: the plugin takes it for a write and says it is a guess
    effects = {
        name: tool.effect
        for name, tool in policy.tools.allow.items()
        if "effect" in tool.model_fields_set
    }
    bounded = {n: args for n, t in policy.tools.allow.items() if (args := wanted(t))}
    keys = {n: t.idempotency for n, t in policy.tools.allow.items() if t.idempotency}
    plugin = GuardPlugin(
        opener,
        effects,
        Scheduler(policy),
        bounded,
        keys,
        coverage,
        rules_for(policy),
        policy.conversation.look_back,
        policy,
    )
    plugin.checks = checks_of(found.nodes)
    plugin.operator = operator
    plugin.names = Names(policy, known_tools(found))
    coverage.mark(found)
    plugin.cover(found)
    first = [p for p in app.plugins if type(p).__name__ == "ToolCallIntegrityPlugin"]
    rest = [p for p in app.plugins if p not in first and not isinstance(p, GuardPlugin)]
    app.plugins = [*first, plugin, *rest]
    return app


def refuse_unsafe(nodes: Iterable[Any]) -> None:
    """Refuse agents that leave the safety settings of their platform to chance.

    Raises:
        RefusedToStart: naming each of them.
    """
    bare = [
        node.name
        for node in nodes
        if hasattr(node, "canonical_model")
        and not getattr(node.generate_content_config, "safety_settings", None)
    ]
    if bare:
        raise RefusedToStart(
            f"{', '.join(bare)}: no safety_settings, and the policy requires them "
            "(conversation.safety_settings); give generate_content_config.safety_settings"
        )


def coverage_of(policy: Policy) -> Coverage:
    """What this policy says about paths and tools."""
    excepted = {e.path: e.why for e in policy.exceptions}
    effects = {name: tool.effect for name, tool in policy.tools.allow.items()}
    return Coverage(excepted, effects, closed=policy.tools.default == "refuse")


def _policy(policy: Any) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(policy)
    raise PolicyError(
        f"policy is {policy!r}; give a preset's name, a file or what load_policy returned"
    )


def app_of(app: Any) -> App:
    """The app, or one made around an agent or a workflow.

    Raises:
        UsageError: it is neither.
    """
    if isinstance(app, App):
        return app
    if not is_node(app):
        raise UsageError(f"app is {app!r}; give an ADK App, an agent or a workflow")
    try:
        return App(name=app.name, root_agent=app)
    except ValueError as error:
        raise UsageError(
            f"{app.name!r} cannot name an app; give an App(name=..., root_agent=...)"
        ) from error


def plugin_of(app: App) -> GuardPlugin:
    """The guard of a guarded app."""
    return next(p for p in app.plugins if isinstance(p, GuardPlugin))


def resume(app: App, run_id: str, session_id: str) -> LiveRun:
    """The next run of this session goes on with an interrupted run: its counters, and what it had
    recorded is given back instead of being done again. A tool's own check (`verified_by`) is asked
    about its unknown writes first.

    Args:
        app: guarded, of the same agent under the same policy.
        run_id: an interrupted run in the app's journal.
        session_id: a session, old or new, that is asked the same.

    Raises:
        RunNotFound: there is none of that id.
        WaitsForPerson: a write may or may not have been carried out; see `ledger.settle_unknown`.
        SetupChanged: the run began under another policy.
        LeaseHeld, JournalDamaged, LedgerError: as for the journal.
    """
    plugin = plugin_of(app)
    ask_the_tools(plugin.opener.store, run_id, plugin.checks)
    run = plugin.opener.reopen(run_id)
    plugin.expect(session_id, run, ends=True)
    return run


def _prices(name: str, policy: Policy) -> tuple[float, ...] | None:
    from roundsman.policy.prices import price_of  # the price library is large

    price = price_of(name, policy)
    if price is None:
        return None
    cached = price.cached_input_per_million
    fresh = price.input_per_million
    return fresh, price.output_per_million, fresh if cached is None else cached


class _Opener:
    """Opens the store when the first run begins, not before: importing an app writes nothing."""

    def __init__(
        self,
        policy: Policy,
        store: Store | None,
        home: Path | None,
        clock: Callable[[], float],
    ) -> None:
        self._policy, self._store, self._home, self._clock = policy, store, home, clock
        self._rules, self._digest = rules_for(policy), policy.digest

    @property
    def store(self) -> Store:
        """The journal, opened on first use."""
        if self._store is None:
            self._store = open_store(self._home)
        return self._store

    def reopen(self, run_id: str) -> LiveRun:
        """An interrupted run, under this app's policy."""
        self.store.info(run_id)  # an unknown id is told with those it may be meant for
        records = self.store.records(run_id)
        began = str(records[0].body.get("policy")) if records else ""
        if began != self._digest:
            raise SetupChanged(
                f"run {run_id} began under policy {began[:12] or 'none'}, this app is guarded by "
                f"{self._digest[:12]}; guard it by the same policy to go on"
            )
        return LiveRun.reopen(self.store, self._rules, run_id, self._clock)

    def __call__(self, invocation: str, question: str) -> LiveRun:
        return LiveRun.start(
            self.store,
            self._rules,
            policy=self._digest,
            question=question,
            clock=self._clock,
        )
