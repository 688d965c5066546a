"""A real small model, where one is installed: that it ends, within its limits, with a whole journal.

Not installed by CI: 130 MB for a model that is good as a generator of garbage, which the servers of
`test_misbehaving_servers.py` are as well, in seconds.
"""

from __future__ import annotations

import pytest
from benchmarks.real_model import INCIDENTS, OWN, one, own_server

from roundsman.errors import MissingDependency
from roundsman.investigate.endpoint import Endpoint


@pytest.mark.slow
def test_a_real_model_ends_within_its_limits() -> None:
    try:
        with own_server() as url:
            row = one(
                Endpoint.of(url, "prompted"), OWN, INCIDENTS / "pool-exhaustion", "default", 60
            )
    except MissingDependency as error:
        pytest.skip(str(error))
    assert row["requests"] == row["steps"]
    assert row["within_limits"]
    assert row["stop"] != "failed"
