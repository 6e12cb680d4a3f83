"""Kinds of files of a result: what `tb-npu mock --without` leaves out, as users do who copy only a part."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tb_npu_plugin.schema import mindspore, torch_npu_csv, torch_npu_db, torch_npu_json, torch_npu_memory_csv

#: Kind -> patterns of its files.
KINDS = {
    "trace": (torch_npu_json.TRACE_VIEW.name,),
    "communication": (
        torch_npu_json.COMMUNICATION.name,
        torch_npu_json.COMMUNICATION_MATRIX.name,
        mindspore.COMMUNICATION_DB,
    ),
    "kernels": (torch_npu_csv.KERNELS.name,),
    "steps": (torch_npu_csv.STEP_TRACE.name,),
    "operators": (torch_npu_csv.OPERATORS.name,),
    "statistics": (torch_npu_csv.OP_STATISTIC.name, torch_npu_csv.API_STATISTIC.name),
    "tasks": (torch_npu_csv.TASK_TIME.name,),
    "memory": (
        torch_npu_memory_csv.OP_MEMORY.name,
        torch_npu_memory_csv.MEMORY_RECORD.name,
        torch_npu_memory_csv.MODULE_MEMORY.name,
    ),
    "database": (f"{torch_npu_db.PROFILER_DB}*.db", f"{mindspore.PROFILER_DB}*.db"),
    "analysis": (torch_npu_db.ANALYSIS_DB,),
    "info": ("profiler_info_*.json",),
    "metadata": (torch_npu_json.PROFILER_METADATA.name,),
}


def remove(folder: Path, kinds: Iterable[str]) -> None:
    """Remove the files of these kinds from a result folder."""
    for kind in kinds:
        for pattern in KINDS[kind]:
            for path in folder.rglob(pattern):
                path.unlink()
