"""A changed copy of a frozen dataclass, cheaply.

`dataclasses.replace` calls the constructor, which sets two dozen fields one by one; on the account
that was half of what a record cost. The fold makes several copies a record, so it copies the
instance's dictionary instead. Unknown names are refused like there.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")
_new, _set = object.__new__, object.__setattr__  # frozen classes refuse the usual way


def evolve(instance: T, **changes: Any) -> T:
    """`instance` with these fields changed; the original stays as it is.

    Only for dataclasses without `__slots__` and without `__post_init__`.

    Raises:
        TypeError: a name that is no field.
    """
    values = instance.__dict__
    changed = values | changes
    if len(changed) != len(values):
        unknown = ", ".join(sorted(changes.keys() - values.keys()))
        raise TypeError(f"{type(instance).__name__} has no field {unknown}")
    copy: T = _new(type(instance))
    _set(copy, "__dict__", changed)
    return copy
