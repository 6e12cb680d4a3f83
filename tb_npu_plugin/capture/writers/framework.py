"""Differences between the results of the frameworks. The frameworks are listed in frameworks.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.overlap import OverlapRows, Windows

#: What of a result a process writes. Two may write one result, as both shares take about as long: the trace with the
#: framework's tables of the database and analysis.db, and everything else. The latter completes the database, so it ends last.
Share = Literal["all", "trace", "rest"]


class StepWriter(Writer, Protocol):
    """step_trace_time.csv."""

    def overlap(self, rows: OverlapRows) -> None:
        """Take overlap rows in file order."""


class TraceWriter(Writer, Protocol):
    """trace_view.json."""

    def overlap(self, rows: OverlapRows, before: int) -> None:
        """Take overlap rows; nothing later begins before `before`."""


class NoTrace:
    """Stands for a trace that another process writes."""

    def add(self, segment: Segment) -> None:
        """Nothing."""

    def overlap(self, rows: OverlapRows, before: int) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


@dataclass(frozen=True)
class TextFiles:
    """What makes the writers of the text files of one capture, which are given its steps (Windows).

    A process makes only those of its share: some open their file at once, and would empty what another has written.
    """

    windows: Callable[[], Windows]
    trace: Callable[[Output], TraceWriter]
    steps: Callable[[Output, Windows], StepWriter]
    others: Callable[[Output, Windows], list[Writer]]


@dataclass(frozen=True)
class Framework:
    """Everything in which the results of one framework differ from those of another.

    suffix     end of the names of result folders
    dialect    spellings of its newest release
    text       writers of the text files
    database   writers of a share of the databases
    host_tables  a database has tables of the framework, too
    info       content of profiler_info_{rank}.json
    metadata   content of profiler_metadata.json
    record     segments of the simulated host -> as this framework records them
    beside     writers of framework-specific files; their paths begin at the result folder
    """

    suffix: str
    dialect: Dialect
    text: TextFiles
    database: Callable[[Path, Process, Options, Dialect, Share], list[Writer]]
    info: Callable[[Process, Options, Dialect], str]
    metadata: Callable[[Process, Options], str]
    record: Callable[[Process, Options], Callable[[Segment], Segment]]
    beside: Callable[[Path, Process, Options], list[Writer]]
    host_tables: bool = True

    def shared(self, options: Options) -> bool:
        """There is something for a second process to write."""
        return "text" in options.export or self.host_tables
