"""Which rank this process is, and its communicators.
Source: docs/facts/ascend_pt.md, profiler_info.json, profiler_metadata.json."""

from __future__ import annotations

import os
import sys
from typing import Any

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
