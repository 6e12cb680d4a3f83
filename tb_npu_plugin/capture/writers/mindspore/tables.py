"""CSV files of MindSpore that are not those of torch_npu.
Source: docs/facts/ascend_ms.md, Files of the output folder, Kernel names and steps."""

from __future__ import annotations

from dataclasses import replace

from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo, Segment, Task
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.kernels_csv import Kernels
from tb_npu_plugin.capture.writers.mindspore.record import LAUNCH
from tb_npu_plugin.capture.writers.overlap import Windows
from tb_npu_plugin.capture.writers.text import cell
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema import torch_npu_csv as schema


class LaunchedKernels(Kernels):
    """kernel_details.csv, whose names begin with the launch where the host was profiled; and op_statistic.csv."""

    def __init__(self, output: Output, windows: Windows) -> None:
        super().__init__(output, windows)
        self._named: dict[tuple[OpInfo, Kernel], Kernel] = {}

    def add(self, segment: Segment) -> None:
        """Write the rows that no later record can come before."""
        if self._output.options.cpu:
            segment = replace(segment, tasks=[self._name(task) for task in segment.tasks])
        super().add(segment)

    def _name(self, task: Task) -> Task:
        if task.op is None or not task.kernel.core:
            return task
        key = (task.op.info, task.kernel)
        found = self._named.get(key)
        if found is None:
            title = f"{task.op.info.name}{names.LAUNCH_SEPARATOR}{task.kernel.name}"
            found = self._named[key] = replace(task.kernel, name=title)
        return replace(task, kernel=found)


class OperatorShapes:
    """operator_details.csv: name and shapes of each launch."""

    def __init__(self, output: Output) -> None:
        self._file = output.csv(schema.OPERATORS, names.OPERATOR_KEYS)

    def add(self, segment: Segment) -> None:
        """Write the launches of one segment, by start."""
        self._file.add([self._line(op) for op in segment.ops if op.info.name.startswith(LAUNCH)])

    def _line(self, op: HostOp) -> str:
        return f"{cell(op.info.name[len(LAUNCH) :])},{cell(op.info.shapes)}"

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
