"""One result folder, written while segments come, and in what the results of the frameworks differ. The frameworks are listed
in frameworks.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tb_npu_plugin.capture.simulation.records import Process, Segment
from tb_npu_plugin.capture.writers.dialect import Dialect, Options
from tb_npu_plugin.capture.writers.files import Output, Writer
from tb_npu_plugin.capture.writers.overlap import NO_ROWS, Overlap, OverlapRows, Windows
from tb_npu_plugin.capture.writers.recording import with_links
from tb_npu_plugin.schema import torch_npu_json as schema


class OverlapWriter(Writer, Protocol):
    """A writer that needs the rows of Overlap Analysis as well."""

    def overlap(self, rows: OverlapRows, before: int) -> None:
        """Take overlap rows in file order; nothing later begins before `before`."""


@dataclass(frozen=True)
class Framework:
    """Everything in which the results of one framework differ from those of another.

    suffix     end of the names of result folders
    dialect    spellings of its newest release
    windows    its steps on the device
    writers    what writes the files that the options bring; those that take overlap rows separately
    info       content of profiler_info_{rank}.json
    metadata   content of profiler_metadata.json
    record     segments of the simulated host -> as this framework records them
    """

    suffix: str
    dialect: Dialect
    windows: Callable[[], Windows]
    writers: Callable[[Output, Windows], tuple[list[Writer], list[OverlapWriter]]]
    info: Callable[[Process, Options, Dialect], str]
    metadata: Callable[[Process, Options], str]
    record: Callable[[Process, Options], Callable[[Segment], Segment]]


class Files:
    """The text files and databases of one capture, in a folder that is made. Their writers share steps and overlap rows."""

    def __init__(self, output: Output, framework: Framework) -> None:
        output.folder.mkdir(parents=True, exist_ok=True)
        self._device, self._overlap, self._windows = output.options.device, Overlap(), framework.windows()
        self._writers, self._overlapped = framework.writers(output, self._windows)

    def add(self, segment: Segment) -> None:
        """Write the next segment."""
        self._windows.add(segment)
        for writer in (*self._writers, *self._overlapped):
            writer.add(segment)
        rows = self._overlap.add(segment) if self._device else NO_ROWS
        self._add_overlap(rows, min(segment.until, self._overlap.open_since()))

    def _add_overlap(self, rows: OverlapRows, before: int) -> None:
        for writer in self._overlapped:
            writer.overlap(rows, before)

    def close(self) -> None:
        """Finish all files: the process is complete now."""
        self._add_overlap(self._overlap.finish(), 1 << 63)
        for writer in (*self._writers, *self._overlapped):
            writer.close()


class Result:
    """One result folder of a simulated process: its files, and those beside them."""

    def __init__(
        self, folder: Path, process: Process, options: Options, dialect: Dialect, framework: Framework
    ) -> None:
        self._root, self._framework = folder, framework
        self._output = Output(folder / schema.OUTPUT_FOLDER, process, options, dialect)
        # first of all, since it says of the process whether there are steps
        self._record = with_links(framework.record(process, options), process, options)
        self._files = Files(self._output, framework)

    def add(self, segment: Segment) -> None:
        """Write the next segment."""
        self._files.add(self._record(segment))

    def close(self) -> None:
        """Finish all files: the process is complete now."""
        self._files.close()
        process, options = self._output.process, self._output.options
        text = self._framework.info(process, options, self._output.dialect)
        (self._root / f"profiler_info_{process.rank}.json").write_text(text, encoding="utf-8")
        content = self._framework.metadata(process, options)
        (self._root / schema.PROFILER_METADATA.name).write_text(content, encoding="utf-8")
