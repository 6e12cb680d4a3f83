"""What the reader of a file is given: the file, and what it reads with."""

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
#: Takes a number of bytes.
Progress = Callable[[int], None]
#: Takes what makes tables that answer the first questions, while the rest of a file is read.
Show = Callable[[Callable[[], Tables]], None]


def ignore_progress(count: int) -> None:
    """A Progress that nobody follows."""


def ignore_preview(make: Callable[[], Tables]) -> None:
    """A Show that nobody looks at."""


@dataclass(frozen=True)
class Reading:
    """One file of a span that is read into tables. Only the first three must be told.

    path      where the file is
    relative  its name in problems: its path below the span's folder, with "/"
    log       takes what is wrong with the file
    progress  is told the bytes of the file that were dealt with since its last call
    spool     makes long columns: where it has a folder, these are read-only, and good while the folder is there
    before    what was read of the span before: a file need not give it again
    show      may be given tables before all of the file is read
    """

    path: Path
    relative: str
    log: ProblemLog
    progress: Progress = ignore_progress
    spool: Spool = field(default_factory=Spool)
    before: Mapping[str, Table] = field(default_factory=dict)
    show: Show = ignore_preview

    @property
    def name(self) -> str:
        """The file's name, which tells its kind."""
        return self.path.name

    @cached_property
    def report(self) -> FileReport:
        """Puts problems of this file into the log."""
        return FileReport(self.log, self.relative)

    def lacking(self, spec: ResultFile) -> set[str]:
        """Those of the tables of such a file that no file before gave."""
        return set(spec.tables) - self.before.keys()
