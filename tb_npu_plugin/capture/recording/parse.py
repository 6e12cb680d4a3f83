"""Raw data of the mock device to result files. Needs no PyTorch; the same raw data give the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from tb_npu_plugin.capture import side_files
from tb_npu_plugin.capture.backend import RAW_FOLDER, Progress, Settings
from tb_npu_plugin.capture.device.records import NOTHING, Recording, load
from tb_npu_plugin.capture.recording.host_lane import HostLane
from tb_npu_plugin.capture.recording.operations import describe
from tb_npu_plugin.capture.recording.raw_data import DEVICE, TRACE, read
from tb_npu_plugin.capture.recording.replay import Replay
from tb_npu_plugin.capture.simulation.chips import chosen_chip
from tb_npu_plugin.capture.writers.dialect import LEVELS, NEW, Options
from tb_npu_plugin.capture.writers.files import Output
from tb_npu_plugin.capture.writers.framework import Files
from tb_npu_plugin.capture.writers.result import COMMUNICATION, TORCH
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.gc_pause import gc_paused
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT, GROUPS, PROFILER_METADATA, SIMULATED


def parse(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    """A Parse (capture/backend.py). TB_NPU_CHIP chooses the chip."""
    data = read(folder)
    chip = chosen_chip()
    trace = folder / RAW_FOLDER / TRACE
    total = 2 * trace.stat().st_size  # reading is about half of the work
    with gc_paused():
        lane = HostLane(trace, lambda done: progress(Progress(done, total, "reading")))
        log = _device_log(folder)
        replay = Replay(data, lane, log, chip)
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
    found = side_files.read_object(folder / PROFILER_METADATA.name)
    return {key: value for key, value in found.items() if key != GROUPS}


#: Settings that Options have under the same names.
_SAME = ("l2_cache", "cpu", "npu", "gc_threshold", "sys_io", "sys_interconnection")


def _options(settings: Settings, export: tuple[str, ...], metadata: Mapping[str, Any]) -> Options:
    host = settings.host
    return Options(
        level=LEVELS.get(settings.level, 0),
        metrics=settings.aic_metrics,
        shapes=host.record_shapes,
        memory=host.profile_memory,
        stack=host.with_stack or host.with_modules,
        export=export,
        **{name: getattr(settings, name) for name in _SAME},
        built_in_marks=(COMMUNICATION,) if settings.records_domain(COMMUNICATION) else (),
        metadata={**metadata, ENVIRONMENT: dict(settings.environment)},
    )
