"""Result formats: the files of each. A new one needs an entry here, a finder in discovery/walk.py and a reader in
readers/formats.py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import (
    cluster,
    kineto,
    minddata,
    mindinsight,
    mindspore_cpu,
    mindspore_files,
    msprof,
    torch_npu_csv,
    torch_npu_db,
    torch_npu_json,
)
from tb_npu_plugin.schema.core import ResultFile, Stage
from tb_npu_plugin.schema.link_files import LINK_TABLES


@dataclass(frozen=True)
class Format:
    """One result format.

    id              name in the code and in JSON
    title           display name
    files           possible files, in the order of the pages that list them
    analyse         code that parses its raw data, with {path}: Python, or a shell command for msprof; "" without parsing
    device          display name of the device
    framework       framework of the operators; "" for any
    from_documents  ids of files known from documentation alone: no recorded one was compared with its declaration;
                    "file.column" for columns that no recorded file of that id has
    """

    id: str
    title: Message
    files: tuple[ResultFile, ...]
    analyse: str = ""
    device: str = "NPU"
    framework: str = ""
    from_documents: frozenset[str] = frozenset()

    def is_from_documents(self, file: ResultFile, column: str = "") -> bool:
        """Whether a file of the format, or one of its columns, is known from documentation alone."""
        return file.id in self.from_documents or f"{file.id}.{column}" in self.from_documents

    def file(self, name: str) -> ResultFile | None:
        """Declaration of a file name without folders; None for undeclared files."""
        if self._names.fullmatch(name) is None:
            return None
        return next((file for file in self.files if file.matches(name)), None)

    @cached_property
    def _names(self) -> re.Pattern[str]:
        """Pattern of all file names: a folder may hold many that are none."""
        each = (file.pattern.pattern if file.pattern else re.escape(file.name) for file in self.files)
        return re.compile(rf"(?:{'|'.join(re.sub(r'[(][?]P<[^>]+>', '(?:', one) for one in each)})(?:\.gz)?")

    def file_of(self, table: str) -> ResultFile | None:
        """The file that fills a logical table, or "trace"; None if the format has none."""
        return next((file for file in self.files if table in file.tables), None)

    @property
    def tables(self) -> frozenset[str]:
        """Logical tables that the format can have, including "trace"."""
        return frozenset(table for file in self.files for table in file.tables)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Reading stages that fill tables: both if the trace is the only file."""
        return ("tables", "trace") if self.from_trace >= self.tables - {"trace"} else ("tables",)

    @property
    def from_trace(self) -> frozenset[str]:
        """Tables built with the timeline: those declared by the trace file; else the operators and kernels, which any trace
        can replace if their file is missing."""
        made = frozenset(table for file in self.files for table, _ in file.in_trace)
        return made or (
            frozenset({"operators", *({"kernels"} & self.tables)}) if "trace" in self.tables else frozenset()
        )


TORCH_NPU = Format(
    "torch_npu",
    Message("format.torch_npu"),
    (*torch_npu_json.JSON_FILES, *torch_npu_csv.CSV_FILES, *torch_npu_db.DATABASE_FILES, msprof.MSPROF_DATABASE),
    'from torch_npu.profiler.profiler import analyse; analyse("{path}")',
    framework="PyTorch",
    from_documents=frozenset(
        {
            "data_preprocess",
            "kernels.infer_id",
            "l2_cache.device_id",
            "msprof_db",
            "op_statistic.model_name",
            *LINK_TABLES,
        }
    ),
)

MINDSPORE = Format(
    "mindspore",
    Message("format.mindspore"),
    (*mindspore_files.FILES, msprof.MSPROF_DATABASE),
    'from mindspore.profiler.profiler import analyse; analyse("{path}")',
    framework="MindSpore",
    from_documents=frozenset(file.id for file in (*mindspore_files.FILES, msprof.MSPROF_DATABASE)),
)

MINDSPORE_CPU = Format(
    "mindspore_cpu",
    Message("format.mindspore_cpu"),
    mindspore_cpu.CPU_FILES,
    device=mindspore_cpu.CPU,
    framework="MindSpore",
)

MINDINSIGHT = Format(
    "mindinsight",
    Message("format.mindinsight"),
    (*mindinsight.STEP_FILES, *mindinsight.OP_FILES, *minddata.LEGACY_FILES),
    framework="MindSpore",
    from_documents=frozenset(
        {
            "aicpu_ops",
            "kernels",
            "memory_summary",
            "minddata_device",
            "minddata_summary",
            "op_flops",
            "profiler_info",
            "step_points",
            "trace",
        }
    ),
)

MINDDATA = Format(
    "minddata",
    Message("format.minddata"),
    minddata.LEGACY_FILES,
    device="",
    framework="MindSpore",
    from_documents=frozenset({"minddata_device", "minddata_ops", "minddata_summary"}),
)

MSPROF = Format(
    "msprof",
    Message("format.msprof"),
    msprof.MSPROF_FILES,
    msprof.EXPORT,
    from_documents=frozenset(
        {
            "communication_statistic",
            "data_preprocess",
            "fusion_op",
            "kernels.infer_id",
            "kernels.step",
            "memory_record",
            "msprof_db",
            "msprof_iterations",
            "op_memory",
            "trace",
            *LINK_TABLES,
        }
    ),
)

CLUSTER = Format("cluster", Message("format.cluster"), cluster.CLUSTER_FILES)

KINETO = Format("kineto", Message("format.kineto"), (kineto.KINETO_TRACE,), device="GPU", framework="PyTorch")

FORMATS: dict[str, Format] = {
    format.id: format
    for format in (TORCH_NPU, MINDSPORE, MINDSPORE_CPU, MINDINSIGHT, MINDDATA, MSPROF, CLUSTER, KINETO)
}
