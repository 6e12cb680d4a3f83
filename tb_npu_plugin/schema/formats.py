"""Kinds of results, each declared once: which files they consist of. A new one is an entry here, a finder in
discovery/finders.py and a reader in readers/formats.py."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema import (
    cluster,
    kineto,
    minddata,
    mindinsight_ops,
    mindinsight_steps,
    mindspore_files,
    msprof,
    torch_npu_csv,
    torch_npu_db,
    torch_npu_json,
)
from tb_npu_plugin.schema.core import ResultFile, Stage


@dataclass(frozen=True)
class Format:
    """One kind of result.

    id         name in the code and in JSON
    title      name for people
    files      what it may consist of, in the order of the pages that list them
    analyse    what parses raw data of it, with {path}: Python, of msprof a shell command; "" where nothing is parsed
    device     what people call the device
    framework  whose operators are recorded; "" where any may be
    """

    id: str
    title: Message
    files: tuple[ResultFile, ...]
    analyse: str = ""
    device: str = "NPU"
    framework: str = ""

    def file(self, name: str) -> ResultFile | None:
        """Declaration of a file of that name (without its folders); None for others."""
        return next((file for file in self.files if file.matches(name)), None)

    def file_of(self, table: str) -> ResultFile | None:
        """The file that fills a logical table, or "trace"; None where such results have none."""
        return next((file for file in self.files if table in file.tables), None)

    @property
    def tables(self) -> frozenset[str]:
        """Logical tables that such a result can have, "trace" included."""
        return frozenset(table for file in self.files for table in file.tables)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Stages of reading that give tables: both where there is nothing but the trace."""
        return ("tables", "trace") if self.from_trace >= self.tables - {"trace"} else ("tables",)

    @property
    def from_trace(self) -> frozenset[str]:
        """Those that are made while the timeline is built: what the trace file declares; else the operators, which can
        be rebuilt from any trace where they have no file of their own."""
        made = frozenset(table for file in self.files for table, _ in file.in_trace)
        return made or frozenset({"operators"} if "trace" in self.tables else ())


TORCH_NPU = Format(
    "torch_npu",
    Message("format.torch_npu"),
    (*torch_npu_json.JSON_FILES, *torch_npu_csv.CSV_FILES, *torch_npu_db.DATABASE_FILES, msprof.MSPROF_DATABASE),
    'from torch_npu.profiler.profiler import analyse; analyse("{path}")',
    framework="PyTorch",
)

MINDSPORE = Format(
    "mindspore",
    Message("format.mindspore"),
    (*mindspore_files.FILES, msprof.MSPROF_DATABASE),
    'from mindspore.profiler.profiler import analyse; analyse("{path}")',
    framework="MindSpore",
)

MINDINSIGHT = Format(
    "mindinsight",
    Message("format.mindinsight"),
    (*mindinsight_steps.STEP_FILES, *mindinsight_ops.OP_FILES, *minddata.LEGACY_FILES),
    framework="MindSpore",
)

MSPROF = Format("msprof", Message("format.msprof"), msprof.MSPROF_FILES, msprof.EXPORT)

CLUSTER = Format("cluster", Message("format.cluster"), cluster.CLUSTER_FILES)

KINETO = Format("kineto", Message("format.kineto"), (kineto.KINETO_TRACE,), device="GPU", framework="PyTorch")

FORMATS: dict[str, Format] = {
    format.id: format for format in (TORCH_NPU, MINDSPORE, MINDINSIGHT, MSPROF, CLUSTER, KINETO)
}
