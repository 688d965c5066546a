"""The checkout's certificate ends while everything runs as before."""

from __future__ import annotations

import time
from collections.abc import Callable

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab

#: from the first deploy to the beginning of the baseline, at most, in seconds
_START = 20.0


class ExpiredCertificate(Drill):
    """From one second to the next no new connection between the services is accepted."""

    name = "expired-certificate"
    about = "the certificate between the two services expires"

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        seconds = baseline + _START if self.fault else 86_400.0
        return Lab(self.names, certificate=seconds, say=say)

    def inject(self, lab: Lab) -> float:
        lab.wait(lab.certificate_ends - time.time())
        return lab.certificate_ends

    def instead(self, lab: Lab) -> None:
        pass

    def remove(self, lab: Lab) -> None:
        lab.renew_certificate(86_400.0)

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, None, "expired_certificate",
            f"the certificate of {self.names.checkout} expired; nothing was changed",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        left = recording.after(names.checkout, "tls_certificate_expires_in_seconds")
        ended = bool(left.size) and float(left.min()) < 0
        return [
            recording.appears(names.gateway, "certificate has expired", 20),
            Check(
                f"the certificate of {names.checkout} is past its end",
                ended,
                f"{left.min():.0f} s left" if left.size else "no samples",
            ),
            recording.errors(0.8),
            recording.alert(),
        ]
