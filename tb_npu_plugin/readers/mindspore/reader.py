"""Maps the files of a MindSpore result to their readers, and corrects the tables once all files are read."""

from __future__ import annotations

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.mindspore import links, memory, steps
from tb_npu_plugin.readers.mindspore.kernels import with_short_names
from tb_npu_plugin.readers.mindspore.marks import read_marks
from tb_npu_plugin.readers.shared.csv_reader import read_csv
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.settings import report_no_groups
from tb_npu_plugin.readers.text import minddata
from tb_npu_plugin.readers.text.communication import read_communication, read_communication_matrix
from tb_npu_plugin.readers.text.kernel_columns import with_kernel_columns
from tb_npu_plugin.readers.text.steps import with_known_times
from tb_npu_plugin.schema import minddata as minddata_files
from tb_npu_plugin.schema import mindspore_files as files
from tb_npu_plugin.schema.formats import MINDSPORE
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

#: Files with one table and a header.
_TABLES = (*files.CSV_FILES, minddata_files.DATASET)
_READERS = {
    files.COMMUNICATION: read_communication,
    files.COMMUNICATION_MATRIX: read_communication_matrix,
}


def read_file(reading: Reading) -> Tables:
    """Return the logical tables of one file; see readers.text.reader.read_file."""
    spec = MINDSPORE.file(reading.name)
    if spec is files.TRACE_VIEW:
        kernels = reading.before.get("kernels")
        # Marks only serve to check the steps of kernels.
        if kernels is None or not kernels.has("step"):
            return {}
        return {"step_marks": read_marks(reading)}
    if spec is not None and spec.is_database:
        return read_database(reading, reading.missing_tables(spec))
    if spec in _TABLES:
        table = read_csv(reading, spec)
        return {} if table is None else {spec.id: table}
    if spec in _READERS:
        return _READERS[spec](reading)
    found = None if spec is None else minddata.read_minddata(spec, reading)
    if found is not None:
        return found
    reading.report.add("unknown_file", found=reading.name)
    return {}


def finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Give names, steps and kinds of communication the same meaning as in torch_npu's tables."""
    report_no_groups(tables, capture, log)
    out = with_known_times(with_kernel_columns(minddata.with_combined_tables(tables)), is_marked=True)
    kernels = out.get("kernels")
    if kernels is not None:
        report = FileReport(log, f"{OUTPUT_FOLDER}/{files.KERNELS.name}")
        if "step_marks" in out:
            kernels = steps.remove_impossible_steps(kernels, out["step_marks"], report)
        out["kernels"] = with_short_names(kernels)
    if "memory_record" in out:
        out["memory_record"] = memory.without_zeros(out["memory_record"])
    if "op_memory" in out:
        out["op_memory"] = memory.without_unknown(out["op_memory"])
    if "comm_links" in out:
        out["comm_links"] = links.by_type(out["comm_links"])
    for name, named_by in links.NAMED_BY.items():
        if name in out:
            out[name] = links.with_point_to_point(out[name], named_by)
    if not steps.are_marked(kernels, capture):
        for name in ("step_trace", *links.NAMED_BY):
            if name in out:
                out[name] = steps.without_whole(out[name])
    return out
