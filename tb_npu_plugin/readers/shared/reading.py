"""The input of a file reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.tables import Table

#: Logical tables by their ids in schema.registry.TABLES.
Tables = dict[str, Table]
#: Called with the number of bytes read since the last call.
Progress = Callable[[int], None]
#: Called with a function that makes preliminary tables, while the rest of a file is read.
Show = Callable[[Callable[[], Tables]], None]


def ignore_progress(count: int) -> None:
    """No-op progress."""


def ignore_preview(make: Callable[[], Tables]) -> None:
    """No-op preview."""


@dataclass(frozen=True)
class Reading:
    """A file of a span to read into tables. Only the first three fields are required.

    path      path of the file
    relative  path below the span's folder, with "/", for problems
    log       collects problems
    progress  called with the number of bytes processed since its last call
    spool     creates long columns; with a folder, they are read-only and valid as long as the folder exists
    before    tables already read from other files of the span, which need not be read again
    show      may be called with preliminary tables
    name      the name that the profiler gives such a file, which determines its kind; the default is that of the path
    counted   the first piece of a split file, which counts for all; "" for other files
    """

    path: Path
    relative: str
    log: ProblemLog
    progress: Progress = ignore_progress
    spool: Spool = field(default_factory=Spool)
    before: Mapping[str, Table] = field(default_factory=dict)
    show: Show = ignore_preview
    counted: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.path.name)

    @cached_property
    def report(self) -> FileReport:
        """Reports problems of this file to the log."""
        return FileReport(self.log, self.relative, self.counted)

    def missing_tables(self, spec: ResultFile) -> set[str]:
        """Return the tables of the file that no earlier file provided."""
        return set(spec.tables) - self.before.keys()
