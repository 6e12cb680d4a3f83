"""Captures in which any two settings meet: the settings, the capture of a tiny training, and the files that come of it."""

from __future__ import annotations

import contextlib
import gc
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.command import METRICS
from tb_npu_plugin.capture.mock.parse import CHIP_VARIABLE
from tests.support.pairs import Axes

_OFF_ON = (False, True)
#: Levels by what they record of the device.
LEVELS = ("Level_none", "Level0", "Level1", "Level2")
_HOST = ("record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops")
_SWITCHES = ("l2_cache", "op_attr", "data_simplification", "record_op_args", "sys_io", "sys_interconnection")
#: rank "group": one of eight that communicate. marks: the domains that are kept.
AXES: Axes = {
    "level": LEVELS,
    "metrics": tuple(METRICS),
    "export": ("text", "db", "both"),
    "activities": ("NPU", "both"),
    **dict.fromkeys((*_HOST, *_SWITCHES, "host_sys"), _OFF_ON),
    "gc_detect_threshold": (None, 0.0, 1e6),
    "marks": ("off", "all", "include", "exclude"),
    "schedule": ("none", "steps", "cold", "repeated"),
    "queue": ("", "0", "1", "2"),
    "rank": ("", "5", "group"),
    "chip": ("", "910A", "310P"),
}
#: Without a device its settings have no effect: fewer of them.
HOST_AXES: Axes = {
    **AXES,
    "activities": ("CPU",),
    "level": ("Level_none", "Level1"),
    "metrics": ("PipeUtilization", "Memory"),
    "marks": ("off", "all"),
    "chip": ("",),
}
#: Settings that did not go together once; the others are those of the first row.
TOGETHER: tuple[dict[str, Any], ...] = (
    {
        "activities": "NPU",
        "schedule": "steps",
        "rank": "group",
        "level": "Level1",
        "metrics": "MemoryAccess",
        "export": "both",
        "sys_io": True,
        "sys_interconnection": True,
        "chip": "",
    },
    {
        "activities": "NPU",
        "level": "Level_none",
        "sys_io": True,
        "sys_interconnection": True,
        "rank": "group",
        "schedule": "none",
    },
    {
        "activities": "NPU",
        "schedule": "cold",
        "export": "db",
        "profile_memory": False,
        "level": "Level1",
        "rank": "group",
    },
    {"activities": "NPU", "marks": "all", "level": "Level1", "schedule": "none"},
)
#: schedule -> its arguments, and steps of the training. "cold" ends one capture and begins the next with the last step.
_SCHEDULES: dict[Any, tuple[dict[str, int] | None, int]] = {
    "none": (None, 1),
    "steps": ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, 4),
    "cold": ({"wait": 0, "active": 1}, 1),
    "repeated": ({"wait": 0, "warmup": 1, "active": 1, "repeat": 2}, 4),
}
_STREAM = SimpleNamespace(npu_stream=0)
FORMS = ("text", "db")
KEPT, DROPPED = "of mine", "of others"


def captures(row: Mapping[str, Any], out: Path) -> list[Path]:
    """Result folders below `out` of a training recorded with these settings, by time; not parsed yet."""
    import torch

    torch.set_num_threads(1)
    schedule, steps = _SCHEDULES[row["schedule"]]
    activities = {"CPU": ("CPU",), "NPU": ("NPU",), "both": ("CPU", "NPU")}[row["activities"]]
    with environment(row), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            _group(row["rank"] == "group"),
            profiler.profile(
                activities=[getattr(profiler.ProfilerActivity, name) for name in activities],
                schedule=profiler.schedule(**schedule) if schedule else None,
                on_trace_ready=profiler.tensorboard_trace_handler(str(out), analyse_flag=False),
                experimental_config=_config(row),
                **{name: row[name] for name in _HOST},
            ) as profile,
        ):
            _train(profile.step if schedule else lambda: None, steps)
    return sorted(out.glob("*_ascend_pt"))


@contextlib.contextmanager
def environment(row: Mapping[str, Any]) -> Iterator[None]:
    """Variables of the process that records or parses."""
    rank = row["rank"] if row["rank"].isdigit() else ""
    with mock.patch.dict(os.environ):
        for name, value in (("TASK_QUEUE_ENABLE", row["queue"]), ("RANK", rank), (CHIP_VARIABLE, row["chip"])):
            os.environ.pop(name, None)
            if value:
                os.environ[name] = value
        yield


def _config(row: Mapping[str, Any]) -> profiler._ExperimentalConfig:
    domains: dict[str, dict[str, Any]] = {
        "include": {"mstx_domain_include": ["mine"]},
        "exclude": {"mstx_domain_exclude": ["others"]},
    }
    return profiler._ExperimentalConfig(
        profiler_level=getattr(profiler.ProfilerLevel, row["level"]),
        export_type=forms(row),
        aic_metrics=getattr(profiler.AiCMetrics, row["metrics"]),
        mstx=row["marks"] != "off",
        host_sys=[profiler.HostSystem.CPU] if row["host_sys"] else [],
        **{name: row[name] for name in (*_SWITCHES, "gc_detect_threshold")},
        **domains.get(row["marks"], {}),
    )


@contextlib.contextmanager
def _group(wanted: bool) -> Iterator[None]:
    """One process that stands for rank 3 of 8."""
    if not wanted:
        yield
        return
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=3, world_size=8, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def _train(step: Any, steps: int) -> None:
    import torch
    import torch.distributed as dist

    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    optimizer, x = torch.optim.SGD(model.parameters()), torch.randn(4, 16)
    for _ in range(steps):
        with profiler.mstx.annotate(KEPT, _STREAM, "mine"), profiler.mstx.annotate(DROPPED, None, "others"):
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            if dist.is_initialized():
                dist.all_reduce(loss.detach())
            optimizer.step()
            loss.item()
        gc.collect(0)
        step()


def forms(row: Mapping[str, Any]) -> list[str]:
    """What the capture is parsed into."""
    return list(FORMS) if row["export"] == "both" else [row["export"]]


def suffix(row: Mapping[str, Any]) -> str:
    """Of the files that are called after the rank."""
    return {"": "", "5": "_5", "group": "_3"}[row["rank"]]


def files_of(row: Mapping[str, Any], forms: Sequence[str], empty: bool) -> set[str]:
    """The files of docs/facts/ascend_pt.md, Files and when they are written. empty: nothing ran while it recorded, so
    that nothing has rows but samples. Memory events meanwhile may have rows."""
    npu, cpu, level = row["activities"] != "CPU", row["activities"] != "NPU", LEVELS.index(row["level"])
    device, ran, group = npu and level > 0, not empty, row["rank"] == "group"
    text = {
        "trace_view.json": True,
        "operator_details.csv": cpu and ran,
        "kernel_details.csv": device and ran,
        "step_trace_time.csv": device and ran,
        "task_time.csv": device and ran,
        "l2_cache.csv": device and ran and row["l2_cache"],
        "op_statistic.csv": device and level > 1 and ran,
        "api_statistic.csv": device and level > 1 and ran,
        "communication.json": device and level > 1 and group and ran,
        "communication_matrix.json": device and level > 1 and group and ran,
        "operator_memory.csv": row["profile_memory"] and ran,
        "memory_record.csv": row["profile_memory"] and ran,
        "npu_module_mem.csv": row["profile_memory"] and device,
        "nic.csv": npu and row["sys_io"],
        "roce.csv": npu and row["sys_io"] and row["chip"] != "310P",
        "pcie.csv": npu and row["sys_interconnection"],
        "hccs.csv": npu and row["sys_interconnection"] and group and row["chip"] != "310P",
    }
    database = {f"ascend_pytorch_profiler{suffix(row)}.db": True, "analysis.db": device and ran}
    wanted = {**(text if "text" in forms else {}), **(database if "db" in forms else {})}
    return {name for name, there in wanted.items() if there}
