"""A recording: what is known of a drill's system, fetched from it and written as an incident folder.

Numbers come from Prometheus' HTTP API (six significant digits), lines from what the processes wrote,
changes from the releases and their Git repository. Nothing is made up, smoothed or filled in: a query
without a series leaves no file.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from roundsman.drill.lab import Lab
from roundsman.drill.queries import queries
from roundsman.errors import UsageError
from roundsman.sources.times import iso

#: seconds between samples
STEP = 2.0


def record(lab: Lab, folder: Path, start: float, end: float) -> None:
    """Write everything about `start` to `end` (epoch seconds) into a new folder."""
    folder.mkdir(parents=True)
    _logs(lab, folder / "logs")  # first: they go on while metrics are fetched
    _metrics(lab, folder / "metrics", start, end)
    _changes(lab, folder)
    alert = lab.alertmanager.firing()
    if alert is not None:
        _json(folder / "alert.json", alert["body"])
    else:
        asked = f"Is anything wrong with {lab.names.gateway}, and if so, what caused it?"
        window = {"start": iso(round(start)), "end": iso(round(end))}
        text = yaml.safe_dump({"question": asked, "window": window}, sort_keys=False)
        (folder / "incident.yaml").write_text(text)
    lab.repository.copy_to(folder / "repository.git")


def _metrics(lab: Lab, folder: Path, start: float, end: float) -> None:
    folder.mkdir()
    for query in queries(lab.names):
        rows = [
            (at, series["metric"].get("service") or query.service, query.name(series["metric"]), v)
            for series in lab.prometheus.range(query.promql, start, end, STEP)
            for at, v in series["values"]
        ]
        if not rows:
            continue
        with (folder / f"{query.metric}.csv").open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(("timestamp", "service", "metric", "value"))
            for at, service, metric, value in rows:
                writer.writerow((iso(float(at)), service, metric, f"{float(value):.6g}"))


def _logs(lab: Lab, folder: Path) -> None:
    folder.mkdir()
    for file in sorted(lab.logs.iterdir()):
        text = file.read_bytes()
        if text:
            # a line that is being written belongs to the next recording
            (folder / file.name).write_bytes(text[: text.rfind(b"\n") + 1])


def _changes(lab: Lab, folder: Path) -> None:
    deploys, commits = [], []
    for release in lab.releases.done:
        row: dict[str, Any] = {
            "timestamp": iso(release.at),
            "service": release.service,
            "version": release.version,
            "previous_version": release.previous_version,
            "commit": release.commit.sha,
        }
        if release.config:
            row["env"] = release.config
        if release.previous_config is not None:
            row["previous_env"] = release.previous_config
        deploys.append(row)
        # the first commit of a service is the whole of it
        diff = release.commit.diff if release.previous_version else ""
        commits.append(
            {
                "timestamp": iso(release.commit.at),
                "service": release.service,
                "sha": release.commit.sha,
                "message": release.commit.message,
                "files": list(release.commit.files),
                "diff": diff,
            }
        )
    _json(folder / "deploys.json", deploys)
    _json(folder / "commits.json", commits)
    _json(folder / "flags.json", [{**row, "at": iso(row["at"])} for row in lab.flags])


def _is_finished(folder: Path) -> bool:
    try:
        said = json.loads((folder / "drill.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and bool(said.get("finished"))


def _json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")


def size(folder: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@contextmanager
def claimed(folder: Path, force: bool = False) -> Iterator[None]:
    """A folder for one recording; what a drill that was broken off left in it goes, with `force` also a
    recording.

    Raises UsageError when it cannot be written, holds a recording or something that no drill made, or
    another drill writes to it now.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}; choose another folder") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"--out {folder}: another drill writes to it; choose another folder"
            ) from None
        if (folder / "incident").exists() and not (folder / "drill.json").exists():
            raise UsageError(f"--out {folder}: its incident/ is no drill's; choose another folder")
        if not force and _is_finished(folder):
            raise UsageError(
                f"--out {folder}: holds a recording; choose another folder, or give --force to record over it"
            )
        if not os.access(folder, os.W_OK):
            raise UsageError(f"--out {folder}: cannot be written; choose another folder")
        # until the drill is over this only says whose folder it is
        _json(folder / "drill.json", {"finished": False})
        (folder / "truth.json").unlink(missing_ok=True)
        shutil.rmtree(folder / "incident", ignore_errors=True)
        yield
    finally:
        os.close(handle)
