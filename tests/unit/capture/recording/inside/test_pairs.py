"""Any two settings of a capture meet in one of these real runs: each has the files
that its settings write, the invariants hold as text and as database, and every view opens it.
Source: docs/facts/ascend_pt.md, Files and when they are written, Invariants."""

from __future__ import annotations

import contextlib
import gc
import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.recording.parse import parse
from tb_npu_plugin.capture.simulation.chips import CHIP_VARIABLE
from tb_npu_plugin.schema.settings import STORED_METRICS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tests.oracle.raw import FULL, Raw
from tests.support.invariants import check_all
from tests.support.kernel_columns import check_columns
from tests.support.pairs import Axes, covering, pairs_in, pairs_of
from tests.support.views import open_all
from tests.unit.store.results import settle

PARTS = 20
Row = dict[str, Any]
_OFF_ON = (False, True)
#: Levels by what they record of the device.
LEVELS = ("Level_none", "Level0", "Level1", "Level2")
_HOST = ("record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops")
_SWITCHES = ("l2_cache", "op_attr", "data_simplification", "record_op_args", "sys_io", "sys_interconnection")
FORMS = ("text", "db")
KEPT, DROPPED = "of mine", "of others"
#: rank "group": one of eight that communicate. marks: the domains that are kept.
AXES: Axes = {
    "level": LEVELS,
    "metrics": tuple(STORED_METRICS),
    "export": (("text",), ("db",), FORMS),
    "activities": ("CPU", "NPU", "both"),
    **dict.fromkeys((*_HOST, *_SWITCHES, "host_sys"), _OFF_ON),
    "gc_detect_threshold": (None, 0.0, 1e6),
    "marks": ("off", "all", "include", "exclude"),
    "schedule": ("none", "steps", "cold", "repeated"),
    "queue": ("", "0", "1", "2"),
    "rank": ("", "5", "group"),
    "chip": ("", "910A", "310P"),
}
_LINKS = {"activities": "NPU", "rank": "group", "sys_io": True, "sys_interconnection": True}
#: Settings that did not go together once; the others are those of the first row.
TOGETHER: tuple[Row, ...] = (
    {**_LINKS, "schedule": "steps", "level": "Level1", "metrics": "MemoryAccess", "export": FORMS, "chip": ""},
    {**_LINKS, "schedule": "none", "level": "Level_none"},
    {
        "activities": "NPU",
        "schedule": "cold",
        "level": "Level1",
        "rank": "group",
        "export": ("db",),
        "profile_memory": False,
    },
    {"activities": "NPU", "schedule": "none", "level": "Level1", "marks": "all"},
)
#: schedule -> its arguments, and steps of the training. "cold" ends one capture and begins the next with the last step.
_SCHEDULES: dict[str, tuple[dict[str, int] | None, int]] = {
    "none": (None, 1),
    "steps": ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, 4),
    "cold": ({"wait": 0, "active": 1}, 1),
    "repeated": ({"wait": 0, "warmup": 1, "active": 1, "repeat": 2}, 4),
}
_DOMAINS = {"include": {"mstx_domain_include": ["mine"]}, "exclude": {"mstx_domain_exclude": ["others"]}}
_ACTIVITIES = {"CPU": ("CPU",), "NPU": ("NPU",), "both": ("CPU", "NPU")}
_SUFFIX = {"": "", "5": "_5", "group": "_3"}


@cache
def rows() -> list[Row]:
    found: list[Row] = covering(AXES)
    return [*({**found[0], **some} for some in TOGETHER), *found]


def test_any_two_settings_meet() -> None:
    met = [pair for row in rows() for pair in pairs_in(row)]
    assert pairs_of(AXES) <= set(met) and len(rows()) < 80


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=FULL) for part in range(1, PARTS))])
def test_any_combination_of_settings_gives_a_whole_result(part: int, tmp_path: Path) -> None:
    for number, row in enumerate(rows()[part::PARTS]):
        try:
            check_row(row, tmp_path / str(number))
        except AssertionError as problem:
            raise AssertionError(row) from problem


def check_row(row: Row, place: Path) -> None:
    run = place / ("task_queue_0" if row["queue"] == "0" else "run")  # as has_task_queue() of the invariants knows it
    folders = captures(row, run)
    assert len(folders) == (2 if row["schedule"] in ("cold", "repeated") else 1)
    empty = {folders[-1]} if row["schedule"] == "cold" else set()
    for forms in dict.fromkeys((row["export"], FORMS)):
        for folder in folders:
            output = folder / OUTPUT_FOLDER
            output.mkdir(exist_ok=True)
            with environment(row):
                parse(folder, output, forms, lambda progress: None)
            loose = {"memory_record.csv"} if folder in empty else set()
            assert {path.name for path in output.iterdir()} - loose == files_of(row, forms, folder in empty)
            settle(folder)
        if forms == row["export"]:
            open_all(run)
    for folder in folders:
        assert (folder / f"profiler_info{_SUFFIX[row['rank']]}.json").exists()
        check_all(folder)
        check_events(Raw(folder), row, folder in empty)


def captures(row: Row, out: Path) -> list[Path]:
    """Result folders below `out` of a training recorded with these settings, by time; not parsed yet."""
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.set_num_threads(1)
    schedule, steps = _SCHEDULES[row["schedule"]]
    config = profiler._ExperimentalConfig(
        profiler_level=getattr(profiler.ProfilerLevel, row["level"]),
        export_type=list(row["export"]),
        aic_metrics=getattr(profiler.AiCMetrics, row["metrics"]),
        mstx=row["marks"] != "off",
        host_sys=[profiler.HostSystem.CPU] if row["host_sys"] else [],
        **{name: row[name] for name in (*_SWITCHES, "gc_detect_threshold")},
        **_DOMAINS.get(row["marks"], {}),
    )
    with environment(row), warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore")
        if row["rank"] == "group":
            dist.init_process_group("hccl", rank=3, world_size=8, store=FakeStore())
            stack.callback(dist.destroy_process_group)
        with profiler.profile(
            activities=[getattr(profiler.ProfilerActivity, name) for name in _ACTIVITIES[row["activities"]]],
            schedule=profiler.schedule(**schedule) if schedule else None,
            on_trace_ready=profiler.tensorboard_trace_handler(str(out), analyse_flag=False),
            experimental_config=config,
            **{name: row[name] for name in _HOST},
        ) as profile:
            train(profile.step if schedule else None, steps)
    return sorted(out.glob("*_ascend_pt"))


@contextlib.contextmanager
def environment(row: Row) -> Iterator[None]:
    """Variables of the process that records or parses."""
    rank = row["rank"] if row["rank"].isdigit() else ""
    wanted = {"TASK_QUEUE_ENABLE": row["queue"], "RANK": rank, CHIP_VARIABLE: row["chip"]}
    with mock.patch.dict(os.environ, {name: value for name, value in wanted.items() if value}):
        for name in (name for name, value in wanted.items() if not value):
            os.environ.pop(name, None)
        yield


def train(end_step: Any, steps: int) -> None:
    import torch
    import torch.distributed as dist

    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.GELU(), torch.nn.Linear(8, 4)).npu()
    optimizer, x = torch.optim.SGD(model.parameters()), torch.randn(4, 16).npu()
    for _ in range(steps):
        kept = profiler.mstx.annotate(KEPT, SimpleNamespace(npu_stream=0), "mine")
        with kept, profiler.mstx.annotate(DROPPED, None, "others"):
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            if dist.is_initialized():
                dist.all_reduce(loss.detach())
            optimizer.step()
            loss.item()
        gc.collect(0)
        if end_step is not None:
            end_step()


def files_of(row: Row, forms: Sequence[str], empty: bool) -> set[str]:
    """The files of docs/facts/ascend_pt.md, Files and when they are written. empty: nothing ran while it recorded, so
    that nothing has rows but samples. Memory events meanwhile may have rows."""
    npu, level, group = row["activities"] != "CPU", LEVELS.index(row["level"]), row["rank"] == "group"
    kernels, details = npu and level > 0 and not empty, npu and level > 1 and not empty
    text = {
        "trace_view.json": True,
        "operator_details.csv": row["activities"] != "NPU" and not empty,
        **dict.fromkeys(("kernel_details.csv", "step_trace_time.csv", "task_time.csv"), kernels),
        "l2_cache.csv": kernels and row["l2_cache"],
        **dict.fromkeys(("op_statistic.csv", "api_statistic.csv"), details),
        **dict.fromkeys(("communication.json", "communication_matrix.json"), details and group),
        **dict.fromkeys(("operator_memory.csv", "memory_record.csv"), row["profile_memory"] and not empty),
        "npu_module_mem.csv": row["profile_memory"] and npu and level > 0,
        "nic.csv": npu and row["sys_io"],
        "roce.csv": npu and row["sys_io"] and row["chip"] != "310P",
        "pcie.csv": npu and row["sys_interconnection"],
        "hccs.csv": npu and row["sys_interconnection"] and group and row["chip"] != "310P",
    }
    database = {f"ascend_pytorch_profiler{_SUFFIX[row['rank']]}.db": True, "analysis.db": kernels}
    wanted = {**(text if "text" in forms else {}), **(database if "db" in forms else {})}
    return {name for name, exists in wanted.items() if exists}


def check_events(raw: Raw, row: Row, empty: bool) -> None:
    """Marks of the chosen domains only; what is recorded of each operator, and beside them; columns of the kernels."""
    shown = {event["name"] for event in raw.process("mstx")} & {KEPT, DROPPED}
    on = row["activities"] != "CPU" and (row["marks"] != "off" or row["level"] == "Level_none") and not empty
    flows = [event for event in raw.events if event.get("cat") == "MsTx" and event["ph"] == "s"]
    assert bool(flows) == (on and row["level"] != "Level_none")
    assert shown == ({KEPT} | ({DROPPED} if row["marks"] in ("off", "all") else set()) if on else set())
    if empty:
        return
    operators = [event for event in raw.slices if event.get("cat") == "cpu_op" and "#" not in event["name"]]
    functions = {event["name"] for event in raw.slices if event.get("cat") == "python_function"}
    keys = {key for event in operators for key in event["args"]}
    host = row["activities"] != "NPU"
    assert bool(operators) == host
    assert ("Input Dims" in keys, "Call stack" in keys) == (host and row["record_shapes"], host and row["with_stack"])
    assert ("nn.Module: Linear_0" in functions) == (host and (row["with_stack"] or row["with_modules"]))
    assert any("test_pairs.py" in name for name in functions) == (host and row["with_stack"])
    assert bool(raw.process("Python GC")) == (host and row["gc_detect_threshold"] == 0.0)
    if raw.has("kernel_details.csv"):
        steps = row["schedule"] != "none" and host
        check_columns(list(raw.kernels[0]), row["level"], row["metrics"], row["chip"] in ("910A", "310P"), steps)
