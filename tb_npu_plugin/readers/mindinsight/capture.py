"""Reads the capture settings of a legacy result: profiler_info, if it exists, and file names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_npu_plugin.discovery.find_mindinsight import FILE_NAMES, hosts_of, rank_in
from tb_npu_plugin.discovery.found import list_folder
from tb_npu_plugin.discovery.rank_table import read_here, read_rank_table
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.json_file import read_object
from tb_npu_plugin.readers.shared.json_shapes import report_lost_keys
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.settings import known_versions, possible_settings
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.schema.mindinsight import CLUSTER_ANALYSE, INFO
from tb_npu_plugin.schema.settings import LEGACY_KEYS
from tb_npu_plugin.schema.torch_npu_json import STAGES

#: Keys of profiler_info that are shown unchanged.
_SHOWN = ("context_mode", "parallel_mode", "pipeline_stage_num", "stage_num", "rank_size", "device_id")
#: Most ranks that are listed.
MAX_WORLD = 65536


def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Capture:
    """Return the capture of one rank. The rank comes from the file names; in the old cluster layout, whose names hold
    devices, from its rank table."""
    info: dict[str, Any] = {}
    for relative in files:
        if INFO.matches(relative.rpartition("/")[2]):
            reading = Reading(folder / relative, relative, log)
            info = possible_settings(read_object(reading, exact=False) or {}, reading.report)
            if not info.keys().isdisjoint(LEGACY_KEYS[-2:]):  # older releases write neither
                report_lost_keys(reading.report, info, LEGACY_KEYS, "")
    rank, source = _rank(folder, files)
    parallel = _parallel(files, info)
    world = max(parallel.get("world_size", 1), 1 if rank is None else rank + 1)
    return Capture(
        rank=rank,
        rank_source=source,
        # Links hold rank numbers inside an unknown group: a group per rank keeps links of different ranks separate.
        groups={} if rank is None else {group_name(rank): {"global_ranks": [None] * min(world, MAX_WORLD)}},
        versions=known_versions(info, {"MindSpore": "ms_version"}),
        metadata={key: info[key] for key in _SHOWN if key in info},
        distributed_args=parallel,
    )


def group_name(rank: int) -> str:
    """Return the substitute name of the communicators of a rank's links, which files do not name."""
    return f"rank {rank}"


def _rank(folder: Path, files: Sequence[str]) -> tuple[int | None, str]:
    """Return the rank and its source: file names of flat folders, the rank table of the old cluster layout."""
    relative = next((relative for relative in files if rank_in(relative.rpartition("/")[2]) is not None), "")
    number = rank_in(relative.rpartition("/")[2])
    if number is None or "/" not in relative:
        return number, "" if number is None else FILE_NAMES
    host = relative.split("/")[1]
    try:
        return read_rank_table(list_folder(folder), read_here).rank_of(host, number, hosts_of(folder))
    except (OSError, ValueError) as error:
        raise_if_of_environment(error)
        return None, ""  # the folder has changed since discovery, whose rank stays valid


def _parallel(files: Sequence[str], info: dict[str, Any]) -> dict[str, Any]:
    """Return mode, stages and ranks of the job, from the name of the cluster file or the settings."""
    for relative in files:
        matched = CLUSTER_ANALYSE.pattern.fullmatch(relative.rpartition("/")[2]) if CLUSTER_ANALYSE.pattern else None
        if matched:
            return {
                "parallel_mode": matched.group("mode"),
                STAGES: int(matched.group("stages")[:9]),
                "world_size": int(matched.group("ranks")[:9]),
            }
    found = {"world_size": info.get("rank_size"), STAGES: info.get("pipeline_stage_num")}
    return {key: value for key, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}
