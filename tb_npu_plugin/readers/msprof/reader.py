"""Maps the files of an msprof export to their readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database import settings
from tb_npu_plugin.readers.database.events.scan import scan_database
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.msprof.iterations import read_iterations, with_checked_clock
from tb_npu_plugin.readers.msprof.pieces import pieces_of, scan_pieces
from tb_npu_plugin.readers.shared.csv_reader import read_pieces
from tb_npu_plugin.readers.shared.reading import Progress, Reading, Tables
from tb_npu_plugin.readers.text.kernel_columns import with_kernel_columns
from tb_npu_plugin.scan import Scan, ScanSink, TraceEvents
from tb_npu_plugin.schema.core import DATABASE_SUFFIX
from tb_npu_plugin.schema.formats import MSPROF
from tb_npu_plugin.schema.msprof import ITERATIONS, MSPROF_DATABASE


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the settings in the database; text exports have none."""
    return settings.with_database_settings(Capture(), folder, files, log, MSPROF_DATABASE)


def read_file(reading: Reading) -> Tables:
    """As readers.text.reader.read_file. All pieces of a split file are read with the first one."""
    spec = MSPROF.file(reading.name)
    if spec is None:
        return {}
    if spec.is_database:
        return read_database(reading, reading.missing_tables(spec))
    if spec is ITERATIONS:
        return read_iterations(reading)
    pieces = pieces_of(spec, reading)
    if pieces[0].path != reading.path:
        return {}
    table = read_pieces(pieces, spec)
    return {} if table is None else {spec.id: table}


def scan(path: Path, log: ProblemLog, progress: Progress, into: ScanSink) -> TraceEvents:
    """Return the events of a database or of a text trace, which may be split."""
    chosen: Scan = scan_database if path.name.endswith(DATABASE_SUFFIX) else scan_pieces
    return chosen(path, log, progress, into)


def finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Check the clock of the iterations, and add L2 rates to the kernels."""
    return with_checked_clock(with_kernel_columns(tables), log)
