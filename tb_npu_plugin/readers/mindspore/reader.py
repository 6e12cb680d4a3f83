"""Maps the files of a MindSpore result to their readers, and corrects the tables once all files are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tb_npu_plugin.discovery.identity import identify
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.settings import with_database_settings
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.mindspore import links
from tb_npu_plugin.readers.mindspore.marks import read_marks
from tb_npu_plugin.readers.shared import settings
from tb_npu_plugin.readers.shared.csv_reader import csv_tables
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.settings import integer_of, known_versions, object_of, report_no_groups, text_of
from tb_npu_plugin.readers.text import minddata
from tb_npu_plugin.readers.text.communication import read_communication, read_communication_matrix
from tb_npu_plugin.readers.text.kernel_columns import with_kernel_columns
from tb_npu_plugin.readers.text.steps import with_known_times
from tb_npu_plugin.schema import minddata as minddata_files
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import mindspore_files as files
from tb_npu_plugin.schema.formats import MINDSPORE
from tb_npu_plugin.schema.mindspore import APP, EVENT_SEPARATOR, LAUNCH_SEPARATOR
from tb_npu_plugin.schema.mindspore_files import FULL_NAME, PROFILER_DATABASE, SCOPE
from tb_npu_plugin.schema.settings import NEWER_KEYS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER, PROFILER_INFO
from tb_npu_plugin.tables import NULL_INT, StringColumn, Table, known

_NO_METRICS = "None"


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of a result folder; report damaged settings. The rank comes from the name of
    profiler_info_<rank>.json, then its rank_id, then folder names. The file of 2.3 and 2.4 is flat and has no
    switches."""
    return with_database_settings(
        _of_settings(folder, settings.beside(files), log), folder, files, log, PROFILER_DATABASE
    )


def _of_settings(folder: Path, found: Sequence[str], log: ProblemLog) -> Capture:
    """Read the settings from JSON files and names. found: files beside the output."""
    name, info = settings.read_profiler_info(folder, found, log)
    report = FileReport(log, name or PROFILER_INFO.name)
    parameters = object_of(info, names.PARAMETERS, report)
    report_lost_keys(report, parameters, NEWER_KEYS, names.PARAMETERS)
    own = object_of(info, names.MS_INFO, report)
    named = identify(folder, folder.parts[-3:])
    rank, source = settings.rank_of(name, {**info, **own}, named, report)
    scheduled = parameters.get(names.IS_SET_SCHEDULE) is True
    return Capture(
        rank=rank,
        rank_source=source,
        worker_name=named.worker_name,
        host=named.host,
        pid=named.pid,
        device_id=integer_of(own.get(names.DEVICE_ID)),
        window=named.window,
        level=text_of(parameters.get("profiler_level")),
        aic_metrics=_metrics(parameters.get("aic_metrics")),
        activities=settings.activities_of(parameters, report),
        schedule=settings.schedule_of(parameters, report) if scheduled else None,
        switches={
            key: value for key, value in parameters.items() if isinstance(value, bool) and key not in names.NO_SWITCHES
        },
        export_types=settings.export_types_of(parameters, "export_type", report),
        versions=known_versions(info, {"MindSpore": names.MS_VERSION, "CANN": names.CANN_VERSION}),
        jit_level=text_of(info.get(names.JIT_LEVEL)),
        **settings.read_metadata(folder, found, log),
    )


def _metrics(value: object) -> str | None:
    """Return the metrics' name as users write it: AiCoreNone is stored as "None"."""
    return names.NO_METRICS if value == _NO_METRICS else text_of(value)


# Splits kernel names: "Kernel::KernelLaunch::Default/net/MatMul-op1/aclnnMatmul" is the kernel aclnnMatmul, launched in
# the scope Default/net/MatMul-op1. Source: docs/facts/ascend_ms.md, Kernel names and steps.


def with_short_names(kernels: Table) -> Table:
    """Shorten kernel names to their last part, and add the full name and the scope as columns; unchanged if no name has
    parts."""
    names = kernels.text("name")
    parts = [split(value) for value in names.values]
    if not any(scope for _, scope in parts) and all(short == value for (short, _), value in zip(parts, names.values)):
        return kernels
    renamed = Table(kernels.columns, {**kernels.data, "name": replace_texts(names, [short for short, _ in parts])})
    return renamed.with_columns(
        [(FULL_NAME, names), (SCOPE, replace_texts(names, [scope or None for _, scope in parts]))]
    )


def split(name: str) -> tuple[str, str]:
    """Return (kernel, scope): the text after the last slash, and the text from the second "::" to that slash or "".

    >>> split("Kernel::KernelLaunch::Default/net/MatMul-op1/aclnnMatmul")
    ('aclnnMatmul', 'Default/net/MatMul-op1')
    >>> split("hcom_allReduce__974_0_1")
    ('hcom_allReduce__974_0_1', '')
    """
    before, _, kernel = name.rpartition(LAUNCH_SEPARATOR)
    if not kernel:
        return name, ""
    parts = before.split(EVENT_SEPARATOR, 2)
    return kernel, parts[2] if len(parts) == 3 else ""


def replace_texts(column: StringColumn, values: Sequence[str | None]) -> StringColumn:
    """Replace the distinct texts of a column; None is unknown."""
    text = StringColumn.of(values)
    codes = np.append(text.codes, np.int32(-1))  # code -1 is the last entry
    return StringColumn(codes[column.codes].astype(np.int32), text.values)


# Corrects the steps that rows belong to.
# Source: docs/facts/ascend_ms.md, Kernel names and steps, step_trace_time.csv of MindSpore.
#
# A kernel belongs to the step in which it was launched; the profiler counts launches outside all steps to the last one.
# Without marks there are no steps, but files call the entire capture step 0.

#: Step name in files without marked steps.
_WHOLE = "0"


def remove_impossible_steps(kernels: Table, marks: Table, report: FileReport) -> Table:
    """Remove the step of kernels counted to the last step that ran before it began: they cannot have been launched in
    it. Kernels after the end of the last step may have been launched in it, and stay."""
    if not len(marks) or not kernels.has("step"):
        return kernels
    last = int(marks.ints("start_ns").argmax())
    name, begins = marks.text("step")[last], int(marks.ints("start_ns")[last])
    steps = kernels.text("step")
    wrong = steps.equals(name or "") & (kernels.ints("start_ns") < begins)
    if not wrong.any():
        return kernels
    report.add("outside_steps", found=Message("found.step", step=name or ""), count=int(wrong.sum()))
    codes = np.where(wrong, np.int32(-1), steps.codes).astype(np.int32)
    return replace(kernels, data={**kernels.data, "step": StringColumn(codes, steps.values)})


def are_marked(kernels: Table | None, capture: Capture) -> bool:
    """Whether the host marked steps: then kernels have steps."""
    if kernels is None:
        return capture.schedule is not None
    return bool((kernels.text("step").codes >= 0).any())


def without_whole(table: Table) -> Table:
    """Remove step 0 from rows of the entire capture; a table with other steps stays unchanged."""
    steps = table.text("step")
    if set(steps.values) != {_WHOLE}:
        return table
    return replace(table, data={**table.data, "step": replace_texts(steps, [None])})


# Removes placeholder values of memory files: 0 for the process's allocated memory in memory_record.csv, N/A in two
# columns of operator_memory.csv. Source: docs/facts/ascend_ms.md, Memory files of MindSpore.

_NEVER_RECORDED = ("active_release_ns", "active_dur_ns")
_NOT_RECORDED = ("allocated_bytes", "active_bytes")


def without_zeros(records: Table) -> Table:
    """Set the process's allocated and active memory to unknown if the file says 0."""
    app = records.text("component").equals(APP)
    data = dict(records.data)
    for key in _NOT_RECORDED:
        if records.has(key):
            values = records.ints(key)
            data[key] = np.where(app & (values == 0), NULL_INT, values)
    return replace(records, data=data)


def without_unknown(allocations: Table) -> Table:
    """Drop the columns of active release if they have no value: otherwise every block would be shown as still held."""
    lost = [key for key in _NEVER_RECORDED if not known(allocations.ints(key)).any()]
    return Table.of((column for column in allocations.columns if column.key not in lost), allocations.data)


#: Files with one table and a header.
_TABLES = (*files.CSV_FILES, minddata_files.DATASET)
_READERS = {files.COMMUNICATION: read_communication, files.COMMUNICATION_MATRIX: read_communication_matrix}


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
        return csv_tables(reading, spec)
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
            kernels = remove_impossible_steps(kernels, out["step_marks"], report)
        out["kernels"] = with_short_names(kernels)
    corrections = {"memory_record": without_zeros, "op_memory": without_unknown, "comm_links": links.by_type}
    for name, correct in corrections.items():
        if name in out:
            out[name] = correct(out[name])
    for name, named_by in links.NAMED_BY.items():
        if name in out:
            out[name] = links.with_point_to_point(out[name], named_by)
    if not are_marked(kernels, capture):
        for name in ("step_trace", *links.NAMED_BY):
            if name in out:
                out[name] = without_whole(out[name])
    return out
