"""One outage and one harmless drill, in real processes, side by side, then investigated.

Two minutes: run by `make drills` and in CI, where the programs must be there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from roundsman.drill.backends.prometheus import ask as query_now

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("ROUNDSMAN_DRILLS") != "1", reason="starts real servers; run by make drills"
    ),
]
_SHORT = ["--baseline", "25s", "--outage", "40s", "--json"]


def start(*args: str, temporary: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "roundsman", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})},
        preexec_fn=_default_signals,
    )


def _default_signals() -> None:
    """However the tests were started: what is ignored is inherited, and Ctrl-C is one of the tests."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def left_over(folder: Path) -> list[str]:
    """Processes that still run out of a drill's folder, and the folder itself."""
    found = [str(folder)] if folder.exists() else []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        found += [text] if str(folder) in text else []
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Both drills' results; that of the outage with `live`: what was said of it while it was up."""
    out = tmp_path_factory.mktemp("drills")
    held, name = "pool-too-large", "harmless-deploy"
    running = {
        held: start("drill", "run", held, "--out", str(out / held), *_SHORT, "--hold"),
        name: start("drill", "run", name, "--out", str(out / name), *_SHORT),
    }
    live = look_at(running[held], out / held, out / "home")
    results = {}
    for name, process in running.items():
        said, told = process.communicate(timeout=300)
        assert process.returncode == 0, told[-3000:] + said
        results[name] = json.loads(said)
    results[held]["live"] = live
    return results


def look_at(drill: subprocess.Popen[str], out: Path, home: Path) -> dict[str, dict[str, Any]]:
    """Investigate a drill that is up through each of its metric stores, mend it, then let it end."""
    assert drill.stderr is not None
    incident = out / "incident"
    urls, told = dict[str, str](), list[str]()
    for line in drill.stderr:
        told.append(line)
        name, _, rest = line.partition(" ")
        urls[name] = rest.strip()
        if line.startswith("Ctrl-C"):
            break
    else:
        pytest.fail("the drill ended: " + "".join(told)[-3000:])
    # the recording's: before it the whole system started, which is an event of its own
    rows = (incident / "metrics" / "instances_up.csv").read_text().splitlines()[1:]
    times = sorted(row.partition(",")[0] for row in rows)
    window = f"{times[0]}/{times[-1]}"
    try:
        found = {
            store: ask(
                home, "--prometheus", urls[store], "--logs", str(incident / "logs"),
                "--git", str(incident / "repository.git"), "--alert", str(incident / "alert.json"),
                "--window", window,
            )
            for store in ("VictoriaMetrics", "Prometheus")
        }  # fmt: skip
        return found | {
            "mended": mend(out, home, found["Prometheus"]["run_id"], urls["Prometheus"])
        }
    finally:
        drill.send_signal(signal.SIGINT)


WRONG = """\
from roundsman.remedy.builtin import SetConfigBack

class MoreTime(SetConfigBack):
    name, about = "more-time", "let the gateway wait longer for the checkout"

    def call_for(self, finding):
        gateway = self.service("shop-gateway")
        return {
            "service": "shop-gateway", "file": str(gateway.settings), "left": [],
            "settings": {"CHECKOUT_TIMEOUT_SECONDS": {"now": 1.5, "back": 3.0}},
            "restart": list(gateway.restart),
        }
"""


def mend(out: Path, home: Path, run_id: str, prometheus: str) -> dict[str, Any]:
    """Apply a remedy that does not help, then the one that does; how it went, and the gateway's failed
    requests a second before, between and after."""
    declared = yaml.safe_load((out / "remedies.yaml").read_text())
    (out / "wrong.py").write_text(WRONG)
    services = declared["services"]
    gateway = Path(services["shop-gateway"]["settings"])
    told: dict[str, Any] = {"gateway": [gateway.read_text()]}
    told["checkout"] = json.loads(Path(services["checkout-api"]["settings"]).read_text())[
        "POOL_SIZE"
    ]
    told["failing"] = [failing(prometheus)]
    for name, within in (("more-time", "20s"), ("set-config-back", "90s")):
        verify = {"settle": "8s", "looks": 3, "every": "2s", "within": within}
        file = out / f"{name}.yaml"
        file.write_text(
            yaml.safe_dump({**declared, "verify": verify, "own": ["wrong.py:MoreTime"]})
        )
        told["proposed"] = say(home, 0, "remedy", "propose", run_id, "--remedies", str(file))
        begun = say(home, 5, "remedy", "apply", run_id, name, "--remedies", str(file))
        code = 4 if name == "more-time" else 0
        told[name] = say(home, code, "approve", begun["run_id"], "--resume")
        told["failing"].append(failing(prometheus, least=1.0 if code else 0.0))
        told["gateway"].append(gateway.read_text())
    return told


def failing(prometheus: str, least: float = 0.0) -> float:
    """Requests a second that the gateway has failed, over the last ten seconds. One that was just
    restarted has to count for a while: it is waited for the `least`."""
    query = 'sum(rate(http_requests_total{service="shop-gateway",code=~"5.."}[10s]))'
    end = time.monotonic() + 30
    while True:
        found = sum(float(row["value"][1]) for row in query_now(prometheus, "query", query=query))
        if found >= least or time.monotonic() > end:
            return found
        time.sleep(0.5)


def say(home: Path, code: int, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", *args, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ROUNDSMAN_HOME": str(home)},
        timeout=300,
    )
    assert done.returncode == code, done.stderr + done.stdout
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def ask(home: Path, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", "investigate", *args, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ROUNDSMAN_HOME": str(home)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def investigate(result: dict[str, Any], home: Path) -> dict[str, Any]:
    return ask(home, result["incident"])


def test_the_mechanism_shows_in_both_recordings(recorded: dict[str, dict[str, Any]]) -> None:
    for result in recorded.values():
        assert [row for row in result["checks"] if not row["ok"]] == []
    assert recorded["pool-too-large"]["alert_seconds"] is not None
    assert recorded["harmless-deploy"]["alert_seconds"] is None


def test_both_metric_stores_hold_the_same_series(recorded: dict[str, dict[str, Any]]) -> None:
    for result in recorded.values():
        stores = result["series"]
        assert stores["prometheus"] > 50
        assert abs(stores["prometheus"] - stores["victoria"]) <= 0.1 * stores["prometheus"]


def test_the_outage_is_laid_to_the_release_that_made_it(
    recorded: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    truth = json.loads(Path(recorded["pool-too-large"]["truth"]).read_text())
    cause = investigate(recorded["pool-too-large"], tmp_path)["cause"]
    assert not cause["abstained"]
    assert cause["service"] == truth["service"]
    assert truth["change"] in cause["change"]


@pytest.mark.parametrize("store", ["Prometheus", "VictoriaMetrics"])
def test_live_stores_logs_and_repository_lead_to_the_same_commit(
    recorded: dict[str, dict[str, Any]], store: str
) -> None:
    truth = json.loads(Path(recorded["pool-too-large"]["truth"]).read_text())
    report = recorded["pool-too-large"]["live"][store]
    cause = report["cause"]
    assert not cause["abstained"]
    assert cause["service"] == truth["service"]
    assert truth["commit"] in cause["change"]
    queries = [str(row.get("query")) for row in report["evidence"]]
    assert any("curl -sG http://127.0.0.1" in query for query in queries)


def test_what_does_not_help_is_rolled_back(recorded: dict[str, dict[str, Any]]) -> None:
    mended = recorded["pool-too-large"]["live"]["mended"]
    wrong = mended["more-time"]
    assert wrong["outcome"] == "rolled back", wrong
    assert "did not help" in wrong["because"]
    assert wrong["steps"]["undo"]["status"] == "ok"
    assert mended["gateway"][0] == mended["gateway"][1]  # the file is as it was
    assert mended["failing"][1] > 1.0


def test_what_helps_is_applied_once_and_the_errors_are_seen_to_fall(
    recorded: dict[str, dict[str, Any]],
) -> None:
    mended = recorded["pool-too-large"]["live"]["mended"]
    fits = [row["remedy"] for row in mended["proposed"]["proposals"] if row["fits"]]
    assert fits[0] == "set-config-back"
    good = mended["set-config-back"]
    assert good["outcome"] == "done", good
    assert good["call"]["args"]["settings"] == {"POOL_SIZE": {"now": 20, "back": 4}}
    assert mended["checkout"] == 20
    before, _, after = mended["failing"]
    assert before > 1.0
    assert after < 0.2 * before
    watched = {
        (one["service"], one["back"]) for one in good["steps"]["verify"]["looks"][-1]["metrics"]
    }
    assert ("shop-gateway", True) in watched


def test_the_harmless_release_is_not_blamed_with_confidence(
    recorded: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    cause = investigate(recorded["harmless-deploy"], tmp_path)["cause"]
    # the pool follows its setting, and a busy machine moves latencies: both may be remarked on
    assert cause["abstained"] or cause["confidence"] != "high"


def test_the_truth_lies_outside_of_what_is_investigated(
    recorded: dict[str, dict[str, Any]],
) -> None:
    for result in recorded.values():
        incident = Path(result["incident"])
        because = json.loads(Path(result["truth"]).read_text())["because"]
        assert incident not in Path(result["truth"]).parents
        texts = [f.read_text("utf-8", "replace") for f in incident.rglob("*") if f.is_file()]
        assert not [text for text in texts if because in text]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that PostgreSQL's account may enter; pytest's own is closed to it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_a_drill_is_broken_off(
    end: signal.Signals, tmp_path: Path, open_folder: Path
) -> None:
    process = start("drill", "run", "disk-full" if os.geteuid() == 0 else "healed-blip",
                    "--out", str(tmp_path / "out"), temporary=open_folder)  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "baseline" in line:
            break
    (folder,) = open_folder.glob("roundsman-drill-*")
    assert len(left_over(folder)) > 8
    process.send_signal(end)
    process.communicate(timeout=300)
    until = time.monotonic() + 300
    while left_over(folder) and time.monotonic() < until:
        time.sleep(0.2)
    assert left_over(folder) == []
    assert process.returncode == (130 if end == signal.SIGINT else -end)
