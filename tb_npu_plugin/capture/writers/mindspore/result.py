"""What a result of mindspore.profiler consists of. Source: docs/facts/ascend_ms.md, Files of the output folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tb_npu_plugin.capture.simulation.records import Process
from tb_npu_plugin.capture.writers.communication import Communication
from tb_npu_plugin.capture.writers.dialect import NEW, Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.framework import Framework, Share, TextFiles
from tb_npu_plugin.capture.writers.host_csv import Apis
from tb_npu_plugin.capture.writers.links import link_writers
from tb_npu_plugin.capture.writers.memory_csv import Modules
from tb_npu_plugin.capture.writers.mindspore.communication import MarkedSteps
from tb_npu_plugin.capture.writers.mindspore.database import MsprofDatabases
from tb_npu_plugin.capture.writers.mindspore.memory import Allocations, MemoryRecord
from tb_npu_plugin.capture.writers.mindspore.minddata import MindData
from tb_npu_plugin.capture.writers.mindspore.record import Recorder
from tb_npu_plugin.capture.writers.mindspore.side_files import info, metadata
from tb_npu_plugin.capture.writers.mindspore.steps import HostWindows, StepTrace
from tb_npu_plugin.capture.writers.mindspore.tables import LaunchedKernels, OperatorShapes
from tb_npu_plugin.capture.writers.mindspore.trace import LaunchedTrace
from tb_npu_plugin.capture.writers.optional_csv import AiCpu, L2Cache
from tb_npu_plugin.capture.writers.overlap import Windows
from tb_npu_plugin.schema.mindspore import SUFFIX

#: MindSpore 2.7 with CANN 8.2: its parser looks for communication under HCCL.
DIALECT = replace(
    NEW,
    core="HCCL",
    process="HCCL",
    cann_level="hccl",
    cann_prefix="Hccl@",
    task_time=False,
    ids_at_level_0=True,
    no_device_id=frozenset({"kernels", "step_trace"}),
    spelling={"kernels.step": 1},
    torch_npu=None,
    framework_version="2.7.0",
    cann="8.2.RC1",
)


def _writers(output: Output, windows: Windows) -> list[Writer]:
    """Writers of the text files but the trace and the steps; one without rows is not made."""
    options = output.options
    device = options.npu and options.kernels
    writers: list[Writer] = []
    if device:
        writers.append(LaunchedKernels(output, windows))
        writers += [L2Cache(output)] if options.l2_cache else []
    writers += link_writers(output)
    if device and options.level >= 1:
        writers += [Communication(output, windows, MarkedSteps), Apis(output)]
        writers += [AiCpu(output)] if options.level >= 2 else []
    if options.memory:
        writers += [Allocations(output)] if options.cpu else []
        writers += [MemoryRecord(output), Modules(output)]
    if options.cpu and options.shapes:
        writers.append(OperatorShapes(output))
    return writers


def _databases(folder: Path, process: Process, options: Options, dialect: Dialect, share: Share) -> list[Writer]:
    return [] if share == "trace" else [MsprofDatabases(folder, process, options, dialect)]


_TEXT = TextFiles(HostWindows, LaunchedTrace, lambda output, windows: StepTrace(output), _writers)
MINDSPORE = Framework(
    SUFFIX,
    DIALECT,
    _TEXT,
    _databases,
    info,
    metadata,
    Recorder,
    lambda folder, process, options: [MindData(folder, process, options)],
    host_tables=False,
)
