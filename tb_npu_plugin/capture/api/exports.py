"""export_chrome_trace, export_stacks, export_memory_timeline (docs/facts/torch_npu_api.md, profile)."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.api.messages import error, warn
from tb_npu_plugin.capture.api.options import ExportType
from tb_npu_plugin.capture.api.parser_process import ParseFailed, progress_bars, run_parser
from tb_npu_plugin.capture.backend import RAW_FOLDER, Json
from tb_npu_plugin.capture.simulation.csv_tables import read_table
from tb_npu_plugin.schema.torch_npu_csv import OPERATORS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER, TRACE_VIEW

CPU_TIME, NPU_TIME = "self_cpu_time_total", "self_npu_time_total"
#: Metric → column of operator_details.csv.
_METRICS = {CPU_TIME: "host_self_ns", NPU_TIME: "device_self_ns"}
DEFAULT_DEVICE = "npu:0"
#: Categories of a memory timeline in their order -> "color" in the picture.
CATEGORIES = read_table(__file__, "memory_categories.csv", dict[str, str])


def export_chrome_trace(folder: Path, output_path: str) -> None:
    """Write the trace of a capture."""
    with _parsed(folder, TRACE_VIEW.name, output_path) as (trace, target):
        trace.replace(target)


def export_stacks(folder: Path, output_path: str, metric: str) -> None:
    """Write the call stacks of a capture."""
    with _parsed(folder, OPERATORS.name, output_path) as (operators, target):
        lines = list(_stack_lines(operators, _METRICS[metric])) if operators.exists() else []
        target.write_text("\n".join(lines), encoding="utf-8")


@contextmanager
def _parsed(folder: Path, name: str, output_path: str) -> Iterator[tuple[Path, Path]]:
    """Yields a result file of a capture in a temporary folder, and the file to write. It is that of the capture's result if
    there is one: the raw data may have been deleted."""
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


def export_memory_timeline(timeline: Callable[[str, bool], Json], output_path: str, device: str) -> None:
    """Write the memory of a device by category; the form by the suffix: .html, raw.json.gz, .json.gz, else JSON.

    timeline: Recorder.memory_timeline.
    """
    content = timeline(device, output_path.endswith("raw.json.gz"))
    if not any(content):
        error(f"No memory timeline data of {device}.")
        return
    if (text := _picture(*content) if output_path.endswith(".html") else json.dumps(content)) is not None:
        target = Path(output_path).absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(text.encode()) if output_path.endswith(".gz") else text.encode())


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
