"""The readers of all formats: one entry per format of schema/formats.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.cluster import reader as cluster
from tb_npu_plugin.readers.database import settings
from tb_npu_plugin.readers.database.events.scan import scan_database
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.kineto import head as kineto_head
from tb_npu_plugin.readers.kineto import tables as kineto_tables
from tb_npu_plugin.readers.mindinsight import reader as mindinsight
from tb_npu_plugin.readers.mindspore import cpu as mindspore_cpu
from tb_npu_plugin.readers.mindspore import reader as mindspore
from tb_npu_plugin.readers.msprof import reader as msprof
from tb_npu_plugin.readers.shared.reading import Progress, Reading, Tables
from tb_npu_plugin.readers.shared.settings import report_no_groups
from tb_npu_plugin.readers.text import minddata
from tb_npu_plugin.readers.text import reader as text
from tb_npu_plugin.readers.text.kernel_columns import with_kernel_columns
from tb_npu_plugin.readers.text.steps import with_known_times
from tb_npu_plugin.scan import Scan, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.schema.core import DATABASE_SUFFIX
from tb_npu_plugin.schema.formats import (
    CLUSTER,
    KINETO,
    MINDDATA,
    MINDINSIGHT,
    MINDSPORE,
    MINDSPORE_CPU,
    MSPROF,
    TORCH_NPU,
)
from tb_npu_plugin.schema.settings import PROFILE_MEMORY
from tb_npu_plugin.schema.torch_npu_db import APP_COMPONENT


@dataclass(frozen=True)
class Reader:
    """The functions that read one format.

    capture  returns the capture settings, from the span's folder and files (relative to the folder)
    tables   returns the logical tables of one file; see readers.text.reader.read_file
    finish   completes and corrects the tables of all files
    scan     returns the events of a trace file
    select   returns the rows of one span, by Found.part, if several spans share files
    derive   returns the logical tables computed from the events; None: operators are rebuilt from events if no file has them
    parts    source table -> the table that `finish` makes from it; the first source table found names the file
    """

    capture: Callable[[Path, Sequence[str], ProblemLog], Capture]
    tables: Callable[[Reading], Tables]
    finish: Callable[[Tables, Capture, ProblemLog], Tables] = lambda tables, capture, log: tables
    scan: Scan = scan_trace
    select: Optional[Callable[[Tables, str], Tables]] = None
    derive: Optional[Callable[[TraceEvents, Optional[ArgsFile], ProblemLog], Tables]] = None
    parts: Mapping[str, str] = field(default_factory=dict)


def _tables(reading: Reading) -> Tables:
    """Read text files completely, and from a database only the tables that they lack."""
    spec = TORCH_NPU.file(reading.name)
    if spec is not None and spec.is_database:
        return read_database(reading, reading.missing_tables(spec))
    return text.read_file(reading)


def _finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Drop the memory record if memory profiling was off. Databases record the process memory for the timeline's
    counters even then, which show it; text exports have no such record."""
    report_no_groups(tables, capture, log)
    tables = with_known_times(with_kernel_columns(tables))
    record = tables.get("memory_record")
    if record is None or capture.switches.get(PROFILE_MEMORY) is not False:
        return tables
    if not record.text("component").equals(APP_COMPONENT).all():
        return tables
    return {name: table for name, table in tables.items() if name != "memory_record"}


def _capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    return settings.with_database_settings(text.read_capture(folder, files, log), folder, files, log)


def _scan(path: Path, log: ProblemLog, progress: Progress, into: ScanSink) -> TraceEvents:
    chosen: Scan = scan_database if path.name.endswith(DATABASE_SUFFIX) else scan_trace
    return chosen(path, log, progress, into)


def _no_tables(reading: Reading) -> Tables:
    """Return no tables: the scan of the timeline derives them."""
    return {}


_LEGACY = Reader(mindinsight.read_capture, mindinsight.read_file, mindinsight.finish, parts=mindinsight.PARTS)
READERS: dict[str, Reader] = {
    TORCH_NPU.id: Reader(_capture, _tables, _finish, _scan),
    MINDINSIGHT.id: _LEGACY,
    MINDDATA.id: _LEGACY,
    MINDSPORE.id: Reader(mindspore.read_capture, mindspore.read_file, mindspore.finish, _scan, parts=minddata.PARTS),
    MINDSPORE_CPU.id: Reader(
        mindspore_cpu.read_capture, mindspore_cpu.read_file, mindspore_cpu.finish, parts=mindspore_cpu.PARTS
    ),
    MSPROF.id: Reader(msprof.read_capture, msprof.read_file, msprof.finish, msprof.scan),
    CLUSTER.id: Reader(cluster.read_capture, cluster.read_file, select=cluster.select),
    KINETO.id: Reader(
        kineto_head.read_capture, _no_tables, scan=kineto_head.scan_kineto, derive=kineto_tables.derive_tables
    ),
}
