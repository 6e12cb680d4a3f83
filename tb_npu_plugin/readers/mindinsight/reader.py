"""Maps the files of a legacy result to their readers, and combines their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.find_mindinsight import FILE_NAMES, hosts_of, rank_in
from tb_npu_plugin.discovery.found import list_folder
from tb_npu_plugin.discovery.rank_table import read_here, read_rank_table
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.mindinsight import hccl, ops, steps
from tb_npu_plugin.readers.shared.figures import Figures, RowBuilder
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.settings import known_versions, possible_settings
from tb_npu_plugin.readers.text import minddata
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema import mindinsight as names
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.formats import MINDINSIGHT
from tb_npu_plugin.schema.mindinsight import CLUSTER_ANALYSE, INFO
from tb_npu_plugin.schema.settings import LEGACY_KEYS
from tb_npu_plugin.schema.torch_npu_json import STAGES
from tb_npu_plugin.tables import Column, Kind, StringColumn, Table
from tb_npu_plugin.units import SIZE_UNITS

#: Keys of profiler_info that are shown unchanged.
_SHOWN = ("context_mode", "parallel_mode", "pipeline_stage_num", "stage_num", "rank_size", "device_id")
#: Most ranks that are listed.
MAX_WORLD = 65536


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of one rank. The rank comes from the file names; in the old cluster layout, whose names hold
    devices, from its rank table."""
    info: dict[str, Any] = {}
    for relative in files:
        if INFO.matches(relative.rpartition("/")[2]):
            reading = Reading(folder / relative, relative, log)
            info = possible_settings(read_object(reading, exact=False) or {}, reading.report)
            if not info.keys().isdisjoint(LEGACY_KEYS[-2:]):  # older releases write neither
                report_lost_keys(reading.report, info, LEGACY_KEYS, "")
    rank, source = _rank(folder, files)
    parallel = _parallel(files, info)
    world = max(parallel.get("world_size", 1), 1 if rank is None else rank + 1)
    return Capture(
        rank=rank,
        rank_source=source,
        # Links hold rank numbers inside an unknown group: a group per rank keeps links of different ranks separate.
        groups={} if rank is None else {group_name(rank): {"global_ranks": [None] * min(world, MAX_WORLD)}},
        versions=known_versions(info, {"MindSpore": "ms_version"}),
        metadata={key: info[key] for key in _SHOWN if key in info},
        distributed_args=parallel,
    )


def group_name(rank: int) -> str:
    """Return the substitute name of the communicators of a rank's links, which files do not name."""
    return f"rank {rank}"


def _rank(folder: Path, files: Sequence[str]) -> tuple[int | None, str]:
    """Return the rank and its source: file names of flat folders, the rank table of the old cluster layout."""
    relative = next((relative for relative in files if rank_in(relative.rpartition("/")[2]) is not None), "")
    number = rank_in(relative.rpartition("/")[2])
    if number is None or "/" not in relative:
        return number, "" if number is None else FILE_NAMES
    host = relative.split("/")[1]
    try:
        return read_rank_table(list_folder(folder), read_here).rank_of(host, number, hosts_of(folder))
    except (OSError, ValueError) as error:
        raise_if_of_environment(error)
        return None, ""  # the folder has changed since discovery, whose rank stays valid


def _parallel(files: Sequence[str], info: dict[str, Any]) -> dict[str, Any]:
    """Return mode, stages and ranks of the job, from the name of the cluster file or the settings."""
    for relative in files:
        matched = CLUSTER_ANALYSE.pattern.fullmatch(relative.rpartition("/")[2]) if CLUSTER_ANALYSE.pattern else None
        if matched:
            return {
                "parallel_mode": matched.group("mode"),
                STAGES: int(matched.group("stages")[:9]),
                "world_size": int(matched.group("ranks")[:9]),
            }
    found = {"world_size": info.get("rank_size"), STAGES: info.get("pipeline_stage_num")}
    return {key: value for key, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}


# Reads small JSON files of legacy results: FLOPs and memory of a step.


def read_flops_summary(reading: Reading) -> dict[str, Table]:
    """Return `flops_summary`, one row; {} if the file is unreadable."""
    keys = {column: names.FLOPS_KEYS[column.key] for column in columns_of("flops_summary")}
    return _one_row(reading, "flops_summary", keys)


def read_memory_summary(reading: Reading) -> dict[str, Table]:
    """Return `memory_summary`, one row; {} if the file is unreadable."""
    keys = {column: column.headers for column in columns_of("memory_summary")}
    return _one_row(reading, "memory_summary", keys)


def _one_row(reading: Reading, table: str, keys: Mapping[Column, Sequence[str]]) -> dict[str, Table]:
    report = reading.report
    value = read_object(reading, exact=True)
    if value is None:
        return {}
    report.count("entries", seen=1)
    if not any(key in value for spellings in keys.values() for key in spellings):
        expected = ", ".join(spellings[0] for spellings in keys.values())
        report.leave_out("entries", "unexpected_shape", expected=expected, found=", ".join(value))
        return {}
    written = [
        next((key for key in spellings if key in value), spellings[0])
        for column, spellings in keys.items()
        if not column.written
    ]
    report_lost_keys(report, value, written, "")
    figures = Figures(report)
    row: list[float | None] = []
    for column, spellings in keys.items():
        key = next((key for key in spellings if key in value), spellings[0])
        if column.kind is Kind.BYTES:
            row.append(figures.integer(value.get(key), SIZE_UNITS["GB"], key))
        elif column.kind is Kind.INT:
            row.append(figures.whole(value.get(key), key))
        else:
            row.append(figures.real(value.get(key), key))
    rows = RowBuilder(tuple(keys))
    rows.add(*row)
    return {table: rows.counted(report, "entries")}


_READERS: dict[str, Callable[[Reading], Tables]] = {
    "iterations": steps.read_step_trace,
    "step_points": steps.read_points,
    "parallel_times": steps.read_cluster,
    "aicore_types": ops.read_types,
    "aicore_ops": ops.read_ops,
    "aicpu_ops": ops.read_aicpu,
    "framework_ops": ops.read_framework,
    "op_flops": ops.read_flops,
    "kernels": ops.read_timeline_data,
    "flops_summary": read_flops_summary,
    "memory_summary": read_memory_summary,
}

#: Intermediate table -> logical table that `finish` builds from it.
PARTS = {**minddata.PARTS, **ops.PARTS}


def read_file(reading: Reading) -> Tables:
    """As readers.text.reader.read_file. If two files fill one table, it holds both, or the better one."""
    spec = MINDINSIGHT.file(reading.name)
    if spec is None:
        reading.report.add("unknown_file", found=reading.name)
        return {}
    if spec.id == "hccl_raw":
        return hccl.read_hccl(reading)
    found = minddata.read_minddata(spec, reading)
    if found is not None:
        return found
    return _READERS[spec.id](reading)


def finish(tables: Tables, capture: Capture, log: ProblemLog) -> Tables:
    """Join operators of several files, and set the rank's group name on links."""
    links = tables.get("comm_links")
    if links is not None and capture.rank is not None:
        group = StringColumn.of([group_name(capture.rank)] * len(links))
        tables = {**tables, "comm_links": Table(links.columns, {**links.data, "group": group})}
    return ops.with_logical_tables(minddata.with_combined_tables(tables), log)
