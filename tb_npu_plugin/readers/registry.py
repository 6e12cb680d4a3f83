"""Which reader reads which file."""

from __future__ import annotations

from pathlib import Path

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.communication import read_communication, read_communication_matrix
from tb_npu_plugin.readers.csv_reader import read_csv
from tb_npu_plugin.readers.report import FileReport
from tb_npu_plugin.readers.source import Progress
from tb_npu_plugin.readers.spool import Spool
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION, COMMUNICATION_MATRIX
from tb_npu_plugin.tables import Table


def read_file(
    path: Path, relative: str, log: ProblemLog, progress: Progress, spool: Spool | None = None
) -> dict[str, Table]:
    """The logical tables (ids of schema.registry.TABLES) of one result file, plain or .gz.

    What could not be read is a problem in the log, and the tables hold the rest; no table at all when the file
    cannot be used. `relative` names the file in problems. `progress` is told the bytes read since its last call.
    `spool`: see read_csv.
    """
    spec = next((spec for spec in CSV_FILES if spec.matches(path.name)), None)
    if spec is not None:
        table = read_csv(path, relative, spec, log, progress, spool)
        return {} if table is None else {spec.id: table}
    if COMMUNICATION.matches(path.name):
        return read_communication(path, relative, log, progress)
    if COMMUNICATION_MATRIX.matches(path.name):
        return read_communication_matrix(path, relative, log, progress)
    FileReport(log, relative).add("unknown_file", found=path.name)
    return {}
