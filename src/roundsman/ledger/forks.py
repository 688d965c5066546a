"""Nothing is inside of SQLite while the process forks.

SQLite's own locks are copied as they are: those that another thread holds at that moment nobody in the
child ever releases, and the first to use SQLite there waits for ever. A heart is such a thread
in any program that guards an agent. (`subprocess` does not fork in this sense: it runs another program.)
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any

LONGEST_S = 2.0
"""How long a fork waits for what other threads do; one that waits for another process may take longer."""
_LOCKS: weakref.WeakSet[Any] = weakref.WeakSet()
_KNOWN = threading.RLock()
"""Held by whoever makes a lock known, and while the process forks: none comes along unseen."""
_HELD = threading.local()


def known(lock: Any) -> None:
    """From now on a fork waits for this lock, which is held by whoever is inside of SQLite."""
    with _KNOWN:
        _LOCKS.add(lock)


def _hold_still() -> None:
    _HELD.locks = []
    until = time.monotonic() + LONGEST_S
    if not _KNOWN.acquire(timeout=LONGEST_S):
        return
    _HELD.locks.append(_KNOWN)
    for lock in list(_LOCKS):
        if lock.acquire(timeout=max(0.0, until - time.monotonic())):
            _HELD.locks.append(lock)


def _go_on() -> None:
    """In the process that forked and in its child: the thread is the same in both."""
    while _HELD.locks:
        _HELD.locks.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_still, after_in_parent=_go_on, after_in_child=_go_on)
