"""An incident folder: metrics, logs and changes as files, seen through the three protocols."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from roundsman.errors import SourceError
from roundsman.sources.change_files import read_change_file
from roundsman.sources.extents import LATE, sensible_end
from roundsman.sources.log_files import BYTE_BUDGET
from roundsman.sources.log_paths import LOG_ENDINGS, is_log, open_logs
from roundsman.sources.metric_files import read_metric_file
from roundsman.sources.protocols import Change, Command, LogLine, Series, Span, Unseen, Window
from roundsman.sources.trace_files import TRACE_ENDINGS, read_call_graph, read_trace_file
from roundsman.sources.walking import below, is_folder, regular, why_not

_METRIC_ENDINGS = (".csv", ".csv.gz", ".parquet")
_PARTS = ("metrics", "logs", "traces", "context")
_CHANGES = {"deploys": "deploy", "deployments": "deploy", "commits": "commit", "flags": "flag"}
_EXPECTED = "expected metrics/*.csv|parquet, logs/*.ndjson|*.log[.gz] or deploys.json in it"


def _is_telemetry(path: Path) -> bool:
    """Whether a name is that of a file of metrics, logs or traces, or of something packed."""
    return path.name.lower().endswith((*_METRIC_ENDINGS, ".gz")) or is_log(path)


def _instead(file: Path) -> str:
    """What to give in the place of a file: the folder it is a part of, or the option it is for."""
    folder = file.parent
    while folder.name in _PARTS and folder != folder.parent:
        folder = folder.parent
    if file.name.startswith("alert."):
        option = f", or to look at other sources: --alert {file}"
    else:
        option = f", or for its lines alone: --logs {file}" if _is_lines(file) else ""
    return f"give the incident folder it lies in: {folder}{option}"


def _is_lines(file: Path) -> bool:
    return is_log(file) and not file.name.endswith((".json", ".json.gz"))


class IncidentFolder:
    """Satisfies MetricSource, LogSource, ChangeSource and TraceSource over one folder.

    `unseen` lists, without repeats, what exists but could not be read. Raises SourceError when the
    folder is missing, or when nothing in it can be read.
    """

    def __init__(self, path: Path, log_budget: int = BYTE_BUDGET) -> None:
        unread: list[str] = []
        if not is_folder(path, lambda _, why: unread.append(why)):
            if not unread and path.exists():
                raise SourceError(f"{path}: is a file, not a folder; {_instead(path)}")
            what = unread[0] if unread else "no such folder"
            raise SourceError(f"{path}: {what}; give an incident folder, {_EXPECTED}")
        self.path = path
        self.unseen: list[Unseen] = []
        self._series: list[Series] = []
        self._changes: list[Change] = []
        self._spans: list[Span] = []
        self._calls: set[tuple[str, str]] = set()
        self._errors: list[str] = []
        self._extent: Window | None = None
        self._taken: set[tuple[int, int]] = set()
        self._roots = [root for root in (path, path / "context") if self._open(root)]
        for root in self._roots:
            self._load_metrics(root)
            self._load_changes(root)
            self._load_traces(root)
        self._logs = open_logs(list(self._log_paths()), log_budget)
        self.kinds = [
            kind
            for kind, some in (
                ("metrics", self._series),
                ("logs", self._logs),
                ("changes", self._changes),
                ("traces", self._spans),
                ("call graph", self._calls),
            )
            if some
        ]
        if not self.kinds:
            if self._errors:
                raise SourceError(self._errors[0])
            raise SourceError(f"{path}: no telemetry in this folder; {_EXPECTED}")

    # --- the protocols -----------------------------------------------------------------------

    def series(self, window: Window, service: str = "", metric: str = "") -> list[Series]:
        """Series with at least one sample in the window, cut to it."""
        out = []
        for one in self._series:
            if service.lower() not in one.service.lower():
                continue
            if metric.lower() not in one.metric.lower():
                continue
            inside = (one.times >= window.start) & (one.times <= window.end)
            if inside.any():
                cut = Series(one.service, one.metric, one.times[inside], one.values[inside])
                out.append(cut)
        return out

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Log lines of the window, file by file, each file in its own order."""
        for file in self._logs:
            yield from file.lines(window, text, self.note, service)

    def changes(self, window: Window) -> list[Change]:
        """Changes of the window, oldest first."""
        return [change for change in self._changes if window.holds(change.at)]

    def spans(self, window: Window) -> list[Span]:
        """Spans that begin in the window, oldest first."""
        return [span for span in self._spans if window.holds(span.at)]

    def calls(self) -> set[tuple[str, str]]:
        """(caller, callee) as graph.csv has them."""
        return self._calls

    # --- about the folder --------------------------------------------------------------------

    def services(self) -> list[str]:
        """Names of services seen in metrics and changes and in the names of log files."""
        names = [one.service for one in self._series] + [c.service for c in self._changes]
        names += [span.service for span in self._spans]
        names += [file.service for file in self._logs if file.path.parent.name == "logs"]
        return sorted({name for name in names if name})

    def extent(self) -> Window | None:
        """The time metrics and logs cover; changes count only when there is nothing else."""
        if self._extent is not None:
            return self._extent
        ends = [sensible_end(one.times) for one in self._series]
        if late := sum(count for _, count in ends):
            self.note(Unseen("metrics", f"samples {LATE}", late))
        edges = [(float(s.times[0]), end) for s, (end, _) in zip(self._series, ends, strict=True)]
        files = [file for file in self._logs if not file.packed]
        edges += [edge for file in files if (edge := file.extent(self.note))]
        if not edges:  # unpacking a large file for its last line is worth it only now
            packed = [file for file in self._logs if file.packed]
            edges = [edge for file in packed if (edge := file.extent(self.note))]
        if not edges and self._spans:
            edges = [(self._spans[0].at, self._spans[-1].at)]
        if not edges:
            edges = [(change.at, change.at) for change in self._changes]
        if not edges:
            return None
        self._extent = Window(min(a for a, _ in edges), max(b for _, b in edges))
        return self._extent

    def extents(self) -> dict[str, Window]:
        """The time metrics, logs (files that are not packed) and traces cover, each for itself."""
        edges: dict[str, list[tuple[float, float]]] = {
            "metrics": [(float(one.times[0]), sensible_end(one.times)[0]) for one in self._series],
            "logs": [
                edge for file in self._logs if not file.packed and (edge := file.extent(self.note))
            ],
            "traces": [(self._spans[0].at, self._spans[-1].at)] if self._spans else [],
        }
        return {
            kind: Window(min(a for a, _ in some), max(b for _, b in some))
            for kind, some in edges.items()
            if some
        }

    def named(self, name: str) -> list[Path]:
        """Files of that name at the top and under `context/`; what is there and is none is noted."""
        files = [root / name for root in self._roots]
        return [file for file in files if regular(file, self._told) is not None]

    def note(self, unseen: Unseen) -> None:
        """Remember that something was not looked at (once)."""
        if unseen not in self.unseen:
            self.unseen.append(unseen)

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """None: `investigate/paste.py` knows what lies where."""
        return None

    # --- loading -----------------------------------------------------------------------------

    def _failed(self, file: Path, error: SourceError | OSError) -> None:
        if isinstance(error, OSError):
            self._told(file, why_not(error))
            return
        self._errors.append(f"{file.parent.name}/{error}")
        why = str(error).removeprefix(f"{file.name}: ")
        if why.startswith(f"{file.name}:"):  # the file is named already, its line is not
            why = f"line {why.removeprefix(f'{file.name}:')}"
        self.note(Unseen(str(file.relative_to(self.path)), why))

    def _told(self, path: Path, why: str) -> None:
        """Note what is there and cannot be looked at."""
        self._errors.append(f"{path}: {why}")
        inside = path.is_relative_to(self.path) and path != self.path
        self.note(Unseen(str(path.relative_to(self.path) if inside else path), why))

    def _open(self, root: Path) -> bool:
        """Whether there is a folder whose files can be asked for; one that cannot be listed is told."""
        if not is_folder(root, self._told):
            return False
        try:
            os.listdir(root)
        except OSError as error:
            self._told(root, why_not(error))
        return os.access(root, os.X_OK)

    def _take(self, file: Path) -> bool:
        """Whether this is a file nobody has taken yet: a link to one is the same file."""
        found = regular(file, self._told)
        if found is None or (found.st_dev, found.st_ino) in self._taken:
            return False
        self._taken.add((found.st_dev, found.st_ino))
        return True

    def _load_metrics(self, root: Path) -> None:
        files = [root / "metrics.csv", root / "metrics.csv.gz", root / "metrics.parquet"]
        files += below(root / "metrics", self._told, _is_telemetry)
        for file in files:
            if not file.name.lower().endswith(_METRIC_ENDINGS) or not self._take(file):
                continue
            try:
                self._series += read_metric_file(file, self.note)
            except (SourceError, OSError) as error:
                self._failed(file, error)

    def _load_changes(self, root: Path) -> None:
        for stem, kind in _CHANGES.items():
            for ending in (".json", ".ndjson", ".jsonl"):
                file = root / f"{stem}{ending}"
                if not self._take(file):
                    continue
                try:
                    found, undated = read_change_file(file, kind)
                except (SourceError, OSError) as error:
                    self._failed(file, error)
                    continue
                self._changes += found
                if undated:
                    self.note(Unseen(file.name, "records without a readable time", undated))
        self._changes.sort(key=lambda change: change.at)
        commits = {c.name: c.text for c in self._changes if c.kind == "commit" and len(c.name) > 6}
        for index, change in enumerate(self._changes):
            # a deploy says what it ships by the commit it names
            shipped = [text for sha, text in commits.items() if sha in change.text]
            if change.kind == "deploy" and shipped:
                self._changes[index] = replace(change, text=" ".join([change.text, *shipped]))

    def _load_traces(self, root: Path) -> None:
        endings = [e + packed for e in TRACE_ENDINGS for packed in ("", ".gz")]
        files = [root / f"traces{ending}" for ending in endings]
        files += below(root / "traces", self._told, _is_telemetry)
        for file in files:
            if not self._take(file):
                continue
            try:
                if not file.name.lower().endswith(tuple(endings)):
                    raise SourceError(f"{file.name}: not a known trace format")
                self._spans += read_trace_file(file, self.note)
            except (SourceError, OSError) as error:
                self._failed(file, error)
        self._spans.sort(key=lambda span: span.at)
        graph = root / "graph.csv"
        if self._take(graph):
            try:
                self._calls |= read_call_graph(graph)
            except (SourceError, OSError) as error:
                self._failed(graph, error)

    def _log_paths(self) -> Iterator[Path]:
        for root in self._roots:
            top = [root / f"logs{ending}" for ending in LOG_ENDINGS]
            top += [root / f"logs{ending}.gz" for ending in LOG_ENDINGS]
            inner = below(root / "logs", self._told, _is_telemetry)
            loose = sorted(set(root.glob("*.log*")) - set(top))
            for file in [*top, *loose, *inner]:
                if not self._take(file):
                    continue
                if not is_log(file):
                    self.note(Unseen(str(file.relative_to(self.path)), "not a known log format"))
                elif file.stat().st_size == 0:
                    self.note(Unseen(str(file.relative_to(self.path)), "empty file"))
                else:
                    yield file
