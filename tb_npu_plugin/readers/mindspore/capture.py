"""Reads the capture settings: profiler_info_{rank}.json of MindSpore, profiler_metadata.json, folder names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tb_npu_plugin.discovery.identity import identify
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.settings import with_database_settings
from tb_npu_plugin.readers.shared import settings
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.readers.shared.settings import integer_of, known_versions, object_of, text_of
from tb_npu_plugin.schema import mindspore as names
from tb_npu_plugin.schema.mindspore_files import PROFILER_DATABASE
from tb_npu_plugin.schema.settings import NEWER_KEYS
from tb_npu_plugin.schema.torch_npu_json import PROFILER_INFO

_NO_METRICS = "None"


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of a result folder; report damaged settings. The rank comes from the name of
    profiler_info_<rank>.json, then its rank_id, then folder names. The file of 2.3 and 2.4 is flat and has no
    switches."""
    return with_database_settings(
        _of_settings(folder, settings.beside(files), log), folder, files, log, PROFILER_DATABASE
    )


def _of_settings(folder: Path, found: Sequence[str], log: ProblemLog) -> Capture:
    """Read the settings from JSON files and names. found: files beside the output."""
    name, info = settings.read_profiler_info(folder, found, log)
    report = FileReport(log, name or PROFILER_INFO.name)
    parameters = object_of(info, names.PARAMETERS, report)
    report_lost_keys(report, parameters, NEWER_KEYS, names.PARAMETERS)
    own = object_of(info, names.MS_INFO, report)
    named = identify(folder, folder.parts[-3:])
    rank, source = settings.rank_of(name, {**info, **own}, named, report)
    scheduled = parameters.get(names.IS_SET_SCHEDULE) is True
    return Capture(
        rank=rank,
        rank_source=source,
        worker_name=named.worker_name,
        host=named.host,
        pid=named.pid,
        device_id=integer_of(own.get(names.DEVICE_ID)),
        window=named.window,
        level=text_of(parameters.get("profiler_level")),
        aic_metrics=_metrics(parameters.get("aic_metrics")),
        activities=settings.activities_of(parameters, report),
        schedule=settings.schedule_of(parameters, report) if scheduled else None,
        switches={
            key: value for key, value in parameters.items() if isinstance(value, bool) and key not in names.NO_SWITCHES
        },
        export_types=settings.export_types_of(parameters, "export_type", report),
        versions=known_versions(info, {"MindSpore": names.MS_VERSION, "CANN": names.CANN_VERSION}),
        jit_level=text_of(info.get(names.JIT_LEVEL)),
        **settings.read_metadata(folder, found, log),
    )


def _metrics(value: object) -> str | None:
    """Return the metrics' name as users write it: AiCoreNone is stored as "None"."""
    return names.NO_METRICS if value == _NO_METRICS else text_of(value)
