"""Compares the steps of communication.json and communication_matrix.json.

Both files name each step: each operator has at least one link, the one to its own rank."""

from __future__ import annotations

from pathlib import PurePosixPath

from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.tables import Table

#: Main table of a file -> main table and name of the other file.
_OTHER = {
    "comm_ops": ("comm_links", names.COMMUNICATION_MATRIX.name),
    "comm_links": ("comm_ops", names.COMMUNICATION.name),
}


def report_lost_steps(reading: Reading, main: str, own: Table) -> None:
    """Report steps that only one file has, once both are read. main, own: name and content of the main table."""
    other_main, other_file = _OTHER[main]
    other = reading.before.get(other_main)
    if other is None or not len(other) or not len(own):
        return
    other_report = FileReport(reading.log, str(PurePosixPath(reading.relative).with_name(other_file)))
    own_steps, other_steps = (set(table.text("step").values) for table in (own, other))
    for report, lost in ((reading.report, other_steps - own_steps), (other_report, own_steps - other_steps)):
        for step in sorted(lost):
            report.add("lost_key", f"{names.STEP_KEY}{step}", kind=names.STEP_KEY)
