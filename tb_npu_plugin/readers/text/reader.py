"""Maps the text files of torch_npu to their readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.identity import identify
from tb_npu_plugin.messages import Message
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared import settings
from tb_npu_plugin.readers.shared.csv_reader import csv_tables
from tb_npu_plugin.readers.shared.json_shapes import report_lost_older_keys
from tb_npu_plugin.readers.shared.reading import Reading, Tables
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.settings import integer_of, known_versions, object_of, text_of
from tb_npu_plugin.readers.text.communication import read_communication, read_communication_matrix
from tb_npu_plugin.schema import torch_npu_json as names
from tb_npu_plugin.schema.settings import ADDED_KEYS
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION, COMMUNICATION_MATRIX

# Reads the capture settings: profiler_info*.json, profiler_metadata.json and folder names.


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of a result folder; report damaged settings. The rank comes from the name of
    profiler_info_<rank>.json, then its rank_id, then the folder name, then the parent folder's name. Start and end are
    wall-clock ns: end is collectionTimeEnd, start is collectionTimeEnd - (MonotonicTimeEnd - start_monotonic)."""
    own = settings.beside(files)
    name, info = settings.read_profiler_info(folder, own, log)
    report = FileReport(log, name or names.PROFILER_INFO.name)
    metadata = settings.read_metadata(folder, own, log)
    config = object_of(info, "config", report)
    common = object_of(config, "common_config", report)
    experimental = object_of(config, "experimental_config", report)
    report_lost_older_keys(report, experimental, ADDED_KEYS, "experimental_config")
    named = identify(folder, folder.parts[-2:])
    rank, source = settings.rank_of(name, info, named, report)
    start, end = _start_end(info, report)
    return Capture(
        rank=rank,
        rank_source=source,
        worker_name=named.worker_name,
        host=named.host,
        pid=named.pid,
        level=text_of(experimental.get("_profiler_level")),
        aic_metrics=text_of(experimental.get("_aic_metrics")),
        activities=settings.activities_of(common, report),
        schedule=settings.schedule_of(common, report),
        switches=_switches(common, experimental),
        export_types=settings.export_types_of(experimental, "_export_type", report),
        versions=known_versions(info, {"torch_npu": "torch_npu_version", "CANN": "cann_version"}),
        start_ns=start,
        end_ns=end,
        **metadata,
    )


def _start_end(info: Mapping[str, Any], report: FileReport) -> tuple[int | None, int | None]:
    """Return start and end in wall-clock ns; the start is derived from the monotonic clock, which is read at both."""
    start_info, end_info = object_of(info, "start_info", report), object_of(info, "end_info", report)
    end = integer_of(end_info.get("collectionTimeEnd"))
    monotonic_end = integer_of(end_info.get("MonotonicTimeEnd"))
    monotonic_start = integer_of(start_info.get("start_monotonic"))
    if end is None or end <= 0:
        return None, None
    if monotonic_end is None or monotonic_start is None:
        return None, end
    if not 0 <= monotonic_end - monotonic_start <= end:
        report.add(
            "inconsistent",
            "start_monotonic",
            expected=Message("expected.monotonic_end", end=monotonic_end),
            found=str(monotonic_start),
        )
        return None, end
    return end - (monotonic_end - monotonic_start), end


def _switches(common: Mapping[str, Any], experimental: Mapping[str, Any]) -> dict[str, bool]:
    """Return all boolean settings, without leading underscores."""
    both = {**common, **experimental}
    return {key.lstrip("_"): value for key, value in both.items() if isinstance(value, bool)}


def read_file(reading: Reading) -> Tables:
    """Return the logical tables (ids of schema.registry.TABLES) of one result file, plain or .gz. Unreadable parts are
    reported and the tables hold the rest; {} if the file is unusable."""
    spec = next((spec for spec in CSV_FILES if spec.matches(reading.name)), None)
    if spec is not None:
        return csv_tables(reading, spec)
    if COMMUNICATION.matches(reading.name):
        return read_communication(reading)
    if COMMUNICATION_MATRIX.matches(reading.name):
        return read_communication_matrix(reading)
    reading.report.add("unknown_file", found=reading.name)
    return {}
