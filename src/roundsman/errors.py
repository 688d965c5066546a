"""Every error Roundsman raises on purpose.

RoundsmanError                  exit_code
├── UsageError                  2   bad input or usage: one clear line, with the way out
│   ├── PolicyError             2   the policy file: file and line
│   ├── SourceError             2   telemetry that is missing or cannot be read
│   ├── MissingDependency       2   an optional package or a key that is not there
│   ├── ModelServerError        2   a model's own server that cannot be used
│   └── RunNotFound             2   no such run in the journal
├── DrillFailed                 3   a drill's own system did not come up or broke down
├── RefusedToStart              4   a guard that cannot see a path does not start
└── LedgerError                 2   the journal cannot be used
    ├── LeaseHeld               2   another live process owns the run
    ├── RunOver                 2   the run has ended: nothing can be added to it
    ├── JournalDamaged          2   the chain of hashes does not hold
    ├── Divergence              2   a resumed run asks for something else than it did
    ├── SetupChanged            2   policy or agent are not those the run began with
    └── WaitsForPerson          5   nothing goes on until a person has decided

PolicyWarning                       a warning, not an error: a name of the policy that nothing bears
"""

from __future__ import annotations


class RoundsmanError(Exception):
    """Base of the tree. `exit_code` is what the command line leaves with."""

    exit_code = 1


class UsageError(RoundsmanError):
    """Bad input or usage; the message names the value and the way out."""

    exit_code = 2


class PolicyError(UsageError):
    """A policy that cannot be accepted; the message starts with file and line when there is one.

    The message is the first error and how many more there are; `errors` holds them all.
    """

    def __init__(self, message: str, errors: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.errors = errors or (message,)


class PolicyWarning(UserWarning):
    """A policy names what an app does not have, as far as can be seen before it runs."""


class SourceError(UsageError):
    """Telemetry that is missing, empty or unreadable."""


class MissingDependency(UsageError):
    """An optional package, program or key that is needed and absent."""


class ModelServerError(UsageError):
    """A model's own server that does not answer, or not as one.

    Attributes:
        status: HTTP's, 0 without one.
        passing: the same request may well succeed in a moment.
        wait: seconds the server asks to wait first.
        unspent: the request never reached the model, so it cost nothing.
        too_long: the prompt did not fit the model's context.
    """

    def __init__(
        self,
        message: str,
        status: int = 0,
        *,
        passing: bool = False,
        wait: float = 0.0,
        unspent: bool = False,
        too_long: bool = False,
    ) -> None:
        super().__init__(message)
        self.status, self.passing, self.wait, self.unspent = status, passing, wait, unspent
        self.too_long = too_long


class RunNotFound(UsageError):
    """The journal holds no run of that id."""


class DrillFailed(RoundsmanError):
    """A process a drill started did not get ready, or ended by itself."""

    exit_code = 3


class RefusedToStart(RoundsmanError):
    """The guard found a path it cannot see and does not start."""

    exit_code = 4


class LedgerError(RoundsmanError):
    """The journal cannot be used as asked."""

    exit_code = 2


class LeaseHeld(LedgerError):
    """Another live process owns this run."""


class RunOver(LedgerError):
    """The run has ended."""


class JournalDamaged(LedgerError):
    """A record's hash does not fit its predecessor's."""


class Divergence(LedgerError):
    """A resumed run does not do what its journal says it did."""


class SetupChanged(LedgerError):
    """Policy, agent or telemetry are not those the run began with."""


class WaitsForPerson(LedgerError):
    """A person has to decide before the run can go on."""

    exit_code = 5
