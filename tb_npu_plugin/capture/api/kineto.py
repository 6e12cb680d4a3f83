"""_KinetoProfile: a capture between start() and stop(), without schedule and handler, and its exports.
Source: docs/facts/torch_npu_api.md, profile."""

from __future__ import annotations

import atexit
import base64
import csv
import gzip
import io
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.api import mstx, parsing, settings
from tb_npu_plugin.capture.api.interface import _ProfInterface
from tb_npu_plugin.capture.api.messages import error, never_raises, warn
from tb_npu_plugin.capture.api.options import ExportType, ProfilerActivity, _ExperimentalConfig
from tb_npu_plugin.capture.api.parser_process import ParseFailed, progress_bars, run_parser
from tb_npu_plugin.capture.api.paths import PLACE
from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.schema.torch_npu_csv import OPERATORS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER, TRACE_VIEW

CPU_TIME, NPU_TIME = "self_cpu_time_total", "self_npu_time_total"
#: Metric → column of operator_details.csv.
_METRICS = {CPU_TIME: "host_self_ns", NPU_TIME: "device_self_ns"}
#: Categories of a memory timeline in their order -> "color" in the picture.
CATEGORIES = read_table(__file__, "memory_categories.csv", dict[str, str])
#: At the end of the process, captures that still run are stopped and temporary folders deleted.
_alive: weakref.WeakSet[_KinetoProfile] = weakref.WeakSet()


@atexit.register
def _clean_up_all() -> None:
    for one in list(_alive):
        one._clean_up()


class _KinetoProfile:
    """Records from start() to stop(), into a temporary folder; export_* writes files from it.

    `metadata` is written with the capture and empty then.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.metadata: dict[str, Any] = {}
        chosen = settings.checked_activities(activities)
        switches = HostSwitches(record_shapes, profile_memory, with_stack, with_flops, with_modules)
        config = settings.checked_config(experimental_config, chosen)
        callback = settings.checked_trace_id_callback(custom_trace_id_callback)
        self.prof_if = _ProfInterface(chosen, settings.checked_switches(switches), config, self.metadata, callback)
        self._process = os.getpid()
        _alive.add(self)

    def __enter__(self) -> Any:
        with self._given_up_if_interrupted():  # __exit__ is not called then
            self.start()
            return self

    def __exit__(self, *error: object) -> None:
        with self._given_up_if_interrupted():
            self.stop()

    @contextmanager
    def _given_up_if_interrupted(self) -> Iterator[None]:
        """Stop PyTorch's profiler on Ctrl-C: it would block the next capture of a notebook."""
        try:
            yield
        except BaseException:
            self.prof_if.give_up()
            raise

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # An argument, because names of this module may be None when the interpreter ends.
        if not is_finalizing() and hasattr(self, "_process"):
            self._clean_up()

    @never_raises()
    def _clean_up(self) -> None:
        """End the capture and delete temporary folders. A forked process has a copy; the files belong to its parent."""
        if self._process == os.getpid():
            if self._is_under_way():
                self.stop()
            self.prof_if.delete_temporary()

    def _is_copy(self, function: str) -> bool:
        """True, and a warning, in a fork of the process that started the profile: the files belong to the parent."""
        if self._process == os.getpid():
            return False
        if not self._is_under_way():
            self._process = os.getpid()  # it was made before the fork, but not started
            return False
        warn(f"The profiler was started by process {self._process}, {function} takes no effect in its child!")
        return True

    def _is_under_way(self) -> bool:
        return self.prof_if.recording

    @never_raises()
    def start(self) -> None:
        """Record from now."""
        if self._is_copy("start"):
            return
        if self.prof_if.recording:
            warn("Profiler is already started, start takes no effect!")
            return
        PLACE.configure(export_only=True)
        self.prof_if.run(("init", "start"))

    @never_raises()
    def stop(self) -> None:
        """Stop recording; the data are ready for export."""
        if self._is_copy("stop"):
            return
        if not self.prof_if.recording:
            warn("Profiler is not started, stop takes no effect!")
            return
        self.prof_if.run(("stop", "finalize"))

    @never_raises()
    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the metadata of this capture."""
        settings.add_metadata(self.metadata, key, value, is_json=False)

    @never_raises()
    def add_metadata_json(self, key: str, value: str) -> None:
        """Add the value of a JSON text to the metadata of this capture."""
        settings.add_metadata(self.metadata, key, value, is_json=True)

    @never_raises()
    def export_chrome_trace(self, output_path: str) -> None:
        """Write the trace of the last capture to a .json file."""
        if not str(output_path).endswith(".json"):
            raise ValueError("Invalid parameter output_path, which must be a json file.")
        if (folder := self.prof_if.finished_folder()) and not parsing.refuse_daemon():
            with _parsed(folder, TRACE_VIEW.name, output_path) as (trace, target):
                trace.replace(target)

    @never_raises()
    def export_stacks(self, output_path: str, metric: str = CPU_TIME) -> None:
        """Write the call stacks of the last capture with their times, as flamegraph.pl reads them."""
        if not self.prof_if.host.with_stack:
            warn("Function export_stacks() requires with_stack=True.")
            return
        if metric not in (CPU_TIME, NPU_TIME):
            metric = CPU_TIME
            warn(f"Metric should be {metric} or {NPU_TIME}. Here it is presumed to be {metric}.")
        path = Path(output_path)
        if not path.name:
            raise ValueError("Invalid parameter output_path, which must be a log file.")
        if path.suffix != ".log":
            path = path.with_suffix(".log")
            warn(f"The file of export_stacks must be a .log file, it is written to {path}.")
        if (folder := self.prof_if.finished_folder()) and not parsing.refuse_daemon():
            with _parsed(folder, OPERATORS.name, path) as (operators, target):
                lines = list(_stack_lines(operators, _METRICS[metric])) if operators.exists() else []
                target.write_text("\n".join(lines), encoding="utf-8")

    @never_raises()
    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        """Write the memory of a device over time, by category. Suffixes .html, raw.json.gz, .json.gz; others: JSON."""
        if missing := self.prof_if.missing_for_memory_timeline():
            warn(f"{', '.join(missing)} required for memory profiling.")
            return
        if self.prof_if.finished_folder() is None:
            return
        device = device or ("npu:0" if ProfilerActivity.NPU in self.prof_if.activities else "cpu")
        target = Path(output_path).absolute()
        recorder, is_raw = self.prof_if.recorded, target.name.endswith("raw.json.gz")
        content = recorder.memory_timeline(device, is_raw) if recorder is not None else []
        if not any(content):
            error(f"No memory timeline data of {device}.")
            return
        text = _picture(*content) if target.suffix == ".html" else json.dumps(content)
        if text is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.compress(text.encode()) if target.suffix == ".gz" else text.encode())

    @never_raises()
    def set_custom_trace_id_callback(self, callback: Callable[[], str] | None) -> None:
        """Set the function that returns the ids of the next captures."""
        self.prof_if.trace_id_callback = settings.checked_trace_id_callback(callback)

    @never_raises(str)
    def get_trace_id(self) -> str:
        """The id of the last capture; "" before the first."""
        return self.prof_if.trace_id

    @classmethod
    @never_raises()
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Record the calling thread as well; the profiler must be recording. The capture's switches hold, not these."""
        if recorder := mstx.recorder:
            recorder.enable_child_thread()
        else:
            warn("The profiler is not recording, enable_profiler_in_child_thread takes no effect.")

    @classmethod
    @never_raises()
    def disable_profiler_in_child_thread(cls) -> None:
        """Stop recording the calling thread."""
        if recorder := mstx.recorder:
            recorder.disable_child_thread()


@contextmanager
def _parsed(folder: Path, name: str, output_path: str | Path) -> Iterator[tuple[Path, Path]]:
    """Yields a result file of a capture in a temporary folder, and the file to write. It is that of the capture's result
    if there is one: the raw data may have been deleted."""
    if ExportType.Db in parsing.recorded_types(side_files.read_info(folder)):
        warn("The export_type db in experimental_config is ignored by export_chrome_trace and export_stacks.")
    target = Path(output_path).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tb_npu_export_", dir=target.parent) as temporary:
        with parsing.lock(folder):
            result = folder / OUTPUT_FOLDER
            if (result / parsing.DONE_FILE).is_file() and (result / name).is_file():
                shutil.copyfile(result / name, Path(temporary, name))
            elif not (folder / RAW_FOLDER).is_dir():
                raise ParseFailed(f"The result has no {name}, and its raw data are deleted. {parsing.KEEP_RAW}")
            else:
                with progress_bars() as add_bar:
                    run_parser(folder, Path(temporary), [ExportType.Text], add_bar(target.name))
        yield Path(temporary, name), target


def _stack_lines(operators: Path, key: str) -> Iterator[str]:
    """`outermost;...;innermost us` of each operator that has a stack and a time."""
    headers = {column.key: column.headers[0] for column in OPERATORS.columns}
    csv.field_size_limit(2**31 - 1)  # a call stack may be long
    with operators.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            frames = [frame.strip() for frame in row[headers["call_stack"]].split(";")]
            value = int(Decimal(row[headers[key]].strip() or 0))  # us
            if value > 0 and any(frames):
                yield f"{';'.join(frame for frame in reversed(frames) if frame)} {value}"


def _picture(times: list[int], sizes: list[list[int]]) -> str | None:
    """A page with the stacked areas as a picture; None (and a message) without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # needs no display
        from matplotlib.figure import Figure
    except ImportError:
        error("matplotlib.pyplot was not found.")
        return None
    figure = Figure(figsize=(20, 12), dpi=80)
    axes = figure.subplots()
    milliseconds = [(at - times[0]) / 1000 for at in times]
    gigabytes = [[size / 1024**3 for size in row[1:]] for row in sizes]
    labels = ["Unknown" if name == "UNKNOWN" else name for name in CATEGORIES]
    colors = [row["color"] for row in CATEGORIES.values()]
    axes.stackplot(milliseconds, *zip(*gigabytes), labels=labels, colors=colors, alpha=0.7)
    figure.legend()
    axes.set_xlabel("Time (ms)")
    axes.set_ylabel("Memory (GB)")
    axes.set_title(f"Max memory allocated: {max(map(sum, gigabytes)):.2f} GB")
    picture = io.BytesIO()
    FigureCanvasAgg(figure).print_png(picture)
    encoded = base64.b64encode(picture.getvalue()).decode()
    head = '<head><meta charset="utf-8"><title>Memory Timeline</title></head>'
    return f'<html>{head}<body><img src="data:image/png;base64,{encoded}"></body></html>\n'
