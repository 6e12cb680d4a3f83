"""Compares the steps of communication.json with those of communication_matrix.json: both name each step, and each operator has
links, at least to its own rank."""

from __future__ import annotations

from pathlib import PurePosixPath

from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.tables import Table

#: Main table of a file -> that of the other file, and its name.
_OTHER = {
    "comm_ops": ("comm_links", names.COMMUNICATION_MATRIX.name),
    "comm_links": ("comm_ops", names.COMMUNICATION.name),
}


def report_lost_steps(reading: Reading, main: str, own: Table) -> None:
    """Report steps that only one of the two files has, when the second one is read. own: the main table of this file."""
    name, file = _OTHER[main]
    other = reading.before.get(name)
    if other is None or not len(other) or not len(own):
        return
    beside = FileReport(reading.log, str(PurePosixPath(reading.relative).with_name(file)))
    here, there = (set(table.text("step").values) for table in (own, other))
    for report, lost in ((reading.report, there - here), (beside, here - there)):
        for step in sorted(lost):
            report.add("lost_key", f"{names.STEP_KEY}{step}", kind=names.STEP_KEY)
