"""The files of a result, written while segments come, and in what the results of the frameworks differ; its kinds of files.
The frameworks are listed in result.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers import details_csv
from tb_npu_plugin.capture.writers.communication import Communication
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.links import TRANSPORTS, LinkFile, LinkMeters
from tb_npu_plugin.capture.writers.memory import Allocations, MemoryRecord, Modules
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.overlap import Windows
from tb_npu_plugin.capture.writers.trace import Trace
from tb_npu_plugin.schema import mindspore, torch_npu_db
from tb_npu_plugin.schema import torch_npu_csv as tables
from tb_npu_plugin.schema import torch_npu_json as documents
from tb_npu_plugin.schema import torch_npu_memory_csv as memory
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.dialects import NEW, Dialect

#: Makes the writer of one file.
MakesWriter = Callable[[Output], Writer]


@dataclass(frozen=True)
class Framework:
    """Everything in which the results of one framework differ from those of another; the defaults are torch_npu's."""

    others: Callable[[Output], list[Writer]]  # databases, and what is written with every export
    info: Callable[[Process, Options, Dialect], dict[str, Any]]  # content of profiler_info_{rank}.json
    metadata: Callable[[Process, Options], dict[str, Any]]  # content of profiler_metadata.json
    #: Segments of the simulated host -> as this framework records them.
    record: Callable[[Process, Options], Callable[[Segment], Segment]]
    suffix: str = "_ascend_pt"  # end of the names of result folders
    dialect: Dialect = NEW  # how its newest release writes
    windows: Callable[[], Windows] = Windows  # finds its steps on the device
    #: Its text files; one without rows is not made.
    kernels: MakesWriter = details_csv.Kernels
    steps: MakesWriter = details_csv.StepTrace
    trace: MakesWriter = Trace
    operators: MakesWriter = details_csv.Operators
    allocations: MakesWriter = Allocations
    memory_record: MakesWriter = MemoryRecord

    def writers(self, output: Output) -> list[Writer]:
        options, out = output.options, self.others(output)
        if "text" not in options.export:
            return out
        out += [self.trace(output), *(LinkFile(output, link) for link in TRANSPORTS)]
        if options.device:
            out += [self.kernels(output), self.steps(output)]
            out += [details_csv.L2Cache(output)] if options.l2_cache else []
            out += [details_csv.TaskTime(output)] if output.dialect.task_time else []
        if options.device and options.level >= 1:
            out += [Communication(output), details_csv.Apis(output)]
            out += [details_csv.DataPreprocess(output)] if options.level >= 2 else []
        if options.memory:
            out += [self.allocations(output), self.memory_record(output), Modules(output)]
        return [*out, self.operators(output)] if options.cpu else out

    def write_side_files(self, output: Output) -> None:
        """profiler_info and profiler_metadata, beside the folder of the others."""
        process, options, folder = output.process, output.options, output.folder.parent
        info = self.info(process, options, output.dialect)
        side_files.write(folder / f"profiler_info_{process.rank}.json", info)
        side_files.write(folder / documents.PROFILER_METADATA.name, self.metadata(process, options))


class Files:
    """The text files and databases of one capture, in a folder that is made. Their writers share steps and overlap rows."""

    def __init__(self, output: Output, framework: Framework) -> None:
        output.folder.mkdir(parents=True, exist_ok=True)
        process, options = output.process, output.options
        # first of all, since it says of the process whether there are steps
        self._record = framework.record(process, options)
        self._links = LinkMeters(process, options)
        self._output = replace(output, windows=framework.windows())
        self._writers = framework.writers(self._output)

    def add(self, segment: Segment) -> None:
        """Write what was recorded of the next segment; of the links what all that ran moved, whatever the level."""
        segment, output = replace(self._record(segment), links=self._links.take(segment)), self._output
        output.windows.add(segment)
        output.overlap.add(segment if output.options.device else Segment(until=segment.until))
        for writer in self._writers:
            writer.add(segment)

    def close(self) -> None:
        """Finish all files: the process is complete now."""
        self._output.overlap.finish()
        for writer in self._writers:
            writer.close()
        for file in self._output.opened:
            file.close()


#: Kind -> its files, or patterns of their names.
KINDS: dict[str, tuple[ResultFile | str, ...]] = {
    "trace": (documents.TRACE_VIEW,),
    "communication": (documents.COMMUNICATION, documents.COMMUNICATION_MATRIX, mindspore.COMMUNICATION_DB),
    "kernels": (tables.KERNELS,),
    "steps": (tables.STEP_TRACE,),
    "operators": (tables.OPERATORS,),
    "statistics": (tables.OP_STATISTIC, tables.API_STATISTIC),
    "tasks": (tables.TASK_TIME,),
    "memory": (memory.OP_MEMORY, memory.MEMORY_RECORD, memory.MODULE_MEMORY),
    "database": (f"{torch_npu_db.PROFILER_DB}*.db", f"{mindspore.PROFILER_DB}*.db"),
    "analysis": (torch_npu_db.ANALYSIS_DB,),
    "info": ("profiler_info_*.json",),
    "metadata": (documents.PROFILER_METADATA,),
}


def remove(folder: Path, kinds: Iterable[str]) -> None:
    """Remove the files of these kinds from a result folder."""
    for kind in kinds:
        for file in KINDS[kind]:
            for path in folder.rglob(file if isinstance(file, str) else file.name):
                path.unlink()
