"""A release that looks like trouble and is none."""

from __future__ import annotations

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab


class HarmlessDeploy(Drill):
    """The pool shrinks from four connections to three an instance; between one and two are used."""

    name = "harmless-deploy"
    about = "a release changes settings, and nothing that matters changes with them"
    harmless = True

    def inject(self, lab: Lab) -> None:
        config = {"POOL_SIZE": 3, "LOG_EVERY": 20}
        lab.deploy(lab.checkout, "v1.5.0", "a smaller pool and fewer lines", config)

    def instead(self, lab: Lab) -> None:
        pass

    def truth(self) -> Truth:
        return Truth(None, None, "none", "the smaller pool is large enough; nothing is wrong")

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        window = recording.whole
        late = [c for c in recording.source.changes(window) if c.at >= recording.at - 1]
        changed = [c for c in late if c.kind == "deploy" and "POOL_SIZE" in c.diff]
        old = recording.before(names.checkout, "db_pool_max")
        new = recording.after(names.checkout, "db_pool_max")
        share = float(new[-1] / old[0]) if old.size and new.size else 0.0
        return [
            Check("the release is in the data", len(changed) == 1, f"{len(changed)} such releases"),
            Check(
                f"{names.checkout} db_pool_max follows it", share == 0.75, f"{share:.0%} of before"
            ),
            recording.quiet(),
        ]
