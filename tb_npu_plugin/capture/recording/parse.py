"""Raw data of the mock device to result files. Needs no PyTorch; the same raw data give the same files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture.backend import RAW_FOLDER, Progress, Settings
from tb_npu_plugin.capture.device.records import NOTHING, Recording, load
from tb_npu_plugin.capture.recording.host_lane import HostLane
from tb_npu_plugin.capture.recording.operations import describe
from tb_npu_plugin.capture.recording.raw_data import DEVICE, TRACE, read
from tb_npu_plugin.capture.recording.replay import Replay
from tb_npu_plugin.capture.simulation.chips import CHIPS, DEFAULT_CHIP
from tb_npu_plugin.capture.writers.dialect import LEVELS, NEW, Options
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.framework import Files
from tb_npu_plugin.capture.writers.result import COMMUNICATION, TORCH
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS, PROFILER_METADATA, SIMULATED

CHIP_VARIABLE = "TB_NPU_CHIP"


def parse(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    """A Parse (capture/backend.py). TB_NPU_CHIP chooses the chip."""
    data = read(folder)
    name = os.environ.get(CHIP_VARIABLE) or DEFAULT_CHIP
    if name not in CHIPS:
        raise BadFile(f"{CHIP_VARIABLE}: unknown chip {name!r}", f"Chips are: {', '.join(CHIPS)}.")
    trace = folder / RAW_FOLDER / TRACE
    total = 2 * trace.stat().st_size  # reading is about half of the work
    with gc_paused():
        lane = HostLane(trace, lambda done: progress(Progress(done, total, "reading")))
        log = _device_log(folder)
        replay = Replay(data, lane, log, CHIPS[name])
        metadata = {**_user_metadata(folder), SIMULATED: describe(log)}
        options = _options(data.settings, tuple(export_types), metadata)
        files = Files(Output(out, replay.process, options, NEW, data.settings.rank is not None), TORCH)
        whole = (data.end or 0) - data.start
        for segment in replay.segments():
            files.add(segment)
            share = min(1.0, max(0, segment.until - data.start) / max(1, whole))
            progress(Progress(total // 2 + int(total // 2 * share * 0.9), total, "simulating"))
        files.close()
        progress(Progress(total, total, "done"))


def _device_log(folder: Path) -> Recording:
    """What the device did; nothing where the process had none."""
    path = folder / RAW_FOLDER / DEVICE
    try:
        return load(path)
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError, KeyError) as problem:
        raise BadFile(f"{path} cannot be used: {problem}", "Record it again.") from problem


def _user_metadata(folder: Path) -> dict[str, Any]:
    """What the script added, for the database; {} where the process ended before it could be written."""
    try:
        found = json.loads((folder / PROFILER_METADATA.name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if key != GROUPS} if isinstance(found, dict) else {}


def _options(settings: Settings, export: tuple[str, ...], metadata: Mapping[str, Any]) -> Options:
    host = settings.host
    return Options(
        level=LEVELS.get(settings.level, 0),
        metrics=settings.aic_metrics,
        shapes=host.record_shapes,
        memory=host.profile_memory,
        stack=host.with_stack or host.with_modules,
        l2_cache=settings.l2_cache,
        cpu=settings.cpu,
        npu=settings.npu,
        export=export,
        gc_threshold=settings.gc_threshold,
        sys_io=settings.sys_io,
        sys_interconnection=settings.sys_interconnection,
        built_in_marks=(COMMUNICATION,) if settings.records_domain(COMMUNICATION) else (),
        metadata={**metadata, ENVIRONMENT: dict(settings.environment)},
    )
