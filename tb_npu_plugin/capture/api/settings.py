"""The arguments and the metadata of a profile, checked (docs/facts/torch_npu_api.md, profile), and the Settings of its
captures, with the rank of this process and its communicators (docs/facts/ascend_pt.md, profiler_info.json)."""

from __future__ import annotations

import json
import os
import sys
import uuid
from dataclasses import replace
from sys import getsizeof
from typing import Any, Callable

from tb_npu_plugin.capture.api.messages import reason, truth_of, warn
from tb_npu_plugin.capture.api.options import ProfilerActivity, _ExperimentalConfig, supported_activities
from tb_npu_plugin.capture.backend import HostSwitches, Settings
from tb_npu_plugin.schema.torch_npu_json import ENVIRONMENT_VARIABLES

#: Settings of the experimental config that the simulated device does not record.
_NOT_SIMULATED = ("record_op_args", "_op_attr", "_host_sys")


def checked_switches(switches: HostSwitches) -> HostSwitches:
    """The switches; one that is not a bool is off (and a warning)."""
    wrong = [name for name, value in vars(switches).items() if not isinstance(value, bool)]
    for name in wrong:
        warn(f"Parameter {name} is of boolean type, reset it to False.")
    return replace(switches, **dict.fromkeys(wrong, False))


def checked_activities(activities: Any) -> set[ProfilerActivity]:
    """The activities; all if there are none, and (with a warning) if one is invalid."""
    try:
        found = list(activities) if truth_of(activities) else []
    except Exception:  # the user's object; reported below
        found = [None]
    if any(not isinstance(item, ProfilerActivity) for item in found):
        warn("Invalid activities, only CPU and NPU are supported, reset it to default.")
        found = []
    return set(found) or supported_activities()


def checked_config(config: Any, activities: set[ProfilerActivity]) -> _ExperimentalConfig:
    """The config, or the default one; warnings for settings without effect."""
    if config is not None and not isinstance(config, _ExperimentalConfig):
        warn("Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default.")
        config = None
    checked = config if config is not None else _ExperimentalConfig()
    if ProfilerActivity.NPU not in activities:
        warn("Experimental config will not be used while ProfilerActivity.NPU is not set.")
    if ProfilerActivity.CPU not in activities and checked._gc_detect_threshold is not None:
        warn("GC detect will not take effect while ProfilerActivity.CPU is not set.")
    if idle := ", ".join(name.lstrip("_") for name in _NOT_SIMULATED if getattr(checked, name)):
        warn(f"The simulated device records nothing for {idle}: no file comes of it.")
    return checked


def make(config: _ExperimentalConfig, activities: set[ProfilerActivity], host: HostSwitches) -> Settings:
    """The settings of a capture that begins now, with the current ranks, groups and environment."""
    cpu, rank = ProfilerActivity.CPU in activities, rank_id()
    return Settings(
        cpu=cpu,
        npu=ProfilerActivity.NPU in activities,
        host=host,
        level=config._profiler_level,
        **{name: getattr(config, f"_{name}") for name in ("aic_metrics", "l2_cache", "sys_io", "sys_interconnection")},
        mstx=config._mstx or config._msprof_tx,
        gc_threshold=config._gc_detect_threshold if cpu else None,
        export_types=tuple(config._export_type),
        rank=None if rank is None else int(rank),
        world=world_size(),
        groups=groups(),
        environment={name: os.environ.get(name, "") for name in ENVIRONMENT_VARIABLES},
        task_queue=task_queue_level(),
        mstx_include=tuple(config._mstx_domain_include),
        mstx_exclude=tuple(config._mstx_domain_exclude),
    )


TASK_QUEUE_VARIABLE, BLOCKING_VARIABLE = "TASK_QUEUE_ENABLE", "ASCEND_LAUNCH_BLOCKING"
_DEFAULT_QUEUE = "1"


def task_queue_level() -> int:
    """0: operators launch by themselves; 1: through the task queue; 2: its thread prepares kernels, too.

    Source: docs/facts/torch_npu_api.md, Environment variables."""
    if os.environ.get(BLOCKING_VARIABLE) == "1":  # torch_npu closes the queue
        return 0
    text = os.environ.get(TASK_QUEUE_VARIABLE, _DEFAULT_QUEUE).strip()
    if text not in ("0", "1", "2"):
        warn(f"Invalid {TASK_QUEUE_VARIABLE} {text!r}, which should be 0, 1 or 2. Reset it to {_DEFAULT_QUEUE}.")
        text = _DEFAULT_QUEUE
    return int(text)


_LONGEST_TRACE_ID = 1024


def checked_trace_id_callback(callback: Any) -> Callable[[], Any] | None:
    """The function that returns ids of captures; None (and a warning) if it is not callable."""
    if callback is not None and not callable(callback):
        warn("Parameter custom_trace_id_callback is not callable, reset it to default.")
    return callback if callable(callback) else None


def new_trace_id(callback: Callable[[], Any] | None) -> str:
    """The id of a capture that begins."""
    default = uuid.uuid4().hex.upper()
    if callback is None:
        return default
    try:
        found = callback()
        wrong = f"must return a str of at most {_LONGEST_TRACE_ID} characters"
    except Exception as problem:  # the user's function
        found, wrong = None, f"failed: {reason(problem)}"
    if isinstance(found, str) and len(found) <= _LONGEST_TRACE_ID:
        return found
    warn(f"custom_trace_id_callback {wrong}. Use the default trace id.")
    return default


#: Characters of a key or a value.
LONGEST_TEXT = 4096
#: Bytes of all metadata, as sys.getsizeof counts.
LARGEST_METADATA = 50 * 1024


def add_metadata(metadata: dict[str, Any], key: Any, value: Any, is_json: bool) -> None:
    """Add a text, or the value of a JSON text; or a list or an object as it is, as the vendor's guide does."""
    if isinstance(value, (list, dict)):
        value, is_json = json.dumps(value, default=str), True
    if not isinstance(key, str) or not isinstance(value, str):
        return warn("The key and value of metadata must be string. Skip this metadata.")
    if max(len(key), len(value)) > LONGEST_TEXT:
        return warn("Invalid input key or value. Skip this metadata.")
    if getsizeof(metadata) + getsizeof(key) + getsizeof(value) >= LARGEST_METADATA:
        return warn("Too many metadata added. Skip this metadata")
    if is_json:
        try:
            value = json.loads(value)
            json.dumps(value, allow_nan=False)  # Python reads NaN and numbers without end, which JSON does not have
        except (ValueError, RecursionError):
            return warn("The metadata value must be json format string. Skip this metadata")
    if key in metadata:
        warn(f"{key} is already saved as metadata, override it.")
    metadata[key] = value
    return None


#: Of a rank, at most.
_DIGITS = 9


def _initialized_distributed() -> Any:
    """torch.distributed where it is initialized, else None. Imports nothing."""
    module = sys.modules.get("torch.distributed")
    return module if module is not None and module.is_available() and module.is_initialized() else None


def rank_id() -> int | str | None:
    """$RANK as it is written (a text, as in profiler_info), else the rank of torch.distributed, else None."""
    written = os.environ.get("RANK", "")
    if _is_count(written):
        return written
    distributed = _initialized_distributed()
    return None if distributed is None else int(distributed.get_rank())


def rank_or_minus_one() -> int:
    """The rank; -1 where it is not known, as in torch_npu."""
    found = rank_id()
    return -1 if found is None else int(found)


def world_size() -> int:
    """Ranks of the whole run; 1 where that is not known."""
    distributed = _initialized_distributed()
    if distributed is not None:
        return int(distributed.get_world_size())
    written = os.environ.get("WORLD_SIZE", "")
    return max(1, int(written)) if _is_count(written) else 1


def _is_count(text: str) -> bool:
    """A number of ranks, and not so long that it fits in no file name."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def groups() -> dict[str, Any]:
    """Communicator → group_name, group_rank, global_ranks, for each HCCL group of torch.distributed that holds this rank.

    The name of a communicator is equal on all of its ranks. Groups of other backends (gloo) are left out, as in torch_npu.
    """
    distributed = _initialized_distributed()
    if distributed is None:
        return {}
    world, rank = distributed.distributed_c10d._world, distributed.get_rank()
    out: dict[str, Any] = {}
    for group, members in world.pg_group_ranks.items():
        name = world.pg_names.get(group)
        if rank in members and name is not None and "hccl" in distributed.get_backend_config(group):
            out[communicator_of(group)] = {
                "group_name": "default_group" if group is distributed.group.WORLD else str(name),
                "group_rank": int(members[rank]),
                "global_ranks": sorted(int(member) for member in members),
            }
    return out


def communicator_of(group: Any) -> str:
    """Name of the communicator of a group of torch.distributed, as its recorded files have it."""
    import torch.distributed as distributed

    server = f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}_{os.environ.get('MASTER_PORT', '0')}"
    name = distributed.distributed_c10d._world.pg_names[group]
    return f"{server}_{distributed.get_backend(group)}_{name}"
