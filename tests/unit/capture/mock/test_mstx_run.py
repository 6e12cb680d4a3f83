"""Marks and ranges of mstx in a real run: on the host, with a stream on the device, too."""

from __future__ import annotations

import sqlite3
import warnings
from types import SimpleNamespace

import pytest

from tb_npu_plugin.capture import pytorch as profiler
from tests.oracle.raw import Raw, ns
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch

STREAM = SimpleNamespace(npu_stream=0)
MARKS = {"everywhere", "host only", "point", "still open", "excluded"}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Raw:
    import torch

    out = tmp_path_factory.mktemp("mstx")
    mstx, x = profiler.mstx, torch.ones(64, 64, requires_grad=True)
    config = profiler._ExperimentalConfig(
        profiler_level=profiler.ProfilerLevel.Level1, mstx=True, mstx_domain_exclude=["no"], export_type=["text", "db"]
    )
    with (
        warnings.catch_warnings(),
        profiler.profile(
            schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
            experimental_config=config,
            on_trace_ready=profiler.tensorboard_trace_handler(str(out)),
        ) as profile,
    ):
        for _ in range(3):
            with mstx.annotate("everywhere", STREAM, "mine"):
                y = x @ x
                with mstx.annotate("host only"):
                    y = y.relu()
            mstx.mark("point", STREAM)
            mstx.mark("excluded", STREAM, "no")
            y.sum().backward()
            mstx.range_start("still open", STREAM)
            profile.step()
    return Raw(next(out.glob("*_ascend_pt")))


def test_rows_of_the_device(raw: Raw) -> None:
    device = [event for event in raw.slices if event.get("args", {}).get("Task Type") == "MsTx"]
    assert [event["name"] for event in device] == ["everywhere", "point"] * 2
    kernels = [event for event in raw.slices if event.get("args", {}).get("Task Type") == "AI_CORE"]
    for event in device[::2]:
        inside = [k for k in kernels if event["ts"] <= k["ts"] and k["ts"] + k["dur"] <= event["ts"] + event["dur"]]
        assert {"MatMul", "Relu"} <= {part for k in inside for part in ("MatMul", "Relu") if part in k["name"]}
    flows = [event for event in raw.events if event.get("cat") == "MsTx"]
    assert [event["ph"] for event in flows] == ["s", "f"] * 4
    assert all((event["pid"], event["tid"], event["ts"]) in raw.by_place for event in flows)


def test_rows_of_the_database(raw: Raw) -> None:
    path = next((raw.folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler*.db"))
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT m.value, d.value, e.name, x.endNs > x.startNs, TASK.startNs, TASK.endNs FROM MSTX_EVENTS AS x "
            "JOIN STRING_IDS AS m ON m.id = message JOIN STRING_IDS AS d ON d.id = domainId "
            "JOIN ENUM_MSTX_EVENT_TYPE AS e ON e.id = eventType "
            "LEFT JOIN TASK ON TASK.connectionId = x.connectionId ORDER BY x.endNs"
        ).fetchall()
    assert sorted(row[:4] for row in rows) == sorted(
        [
            ("everywhere", "mine", "start/end", 1),
            ("host only", "default", "start/end", 1),
            ("point", "default", "marker_ex", 0),
            ("still open", "default", "start/end", 1),
        ]
        * 2
    )
    shown = {
        (e["name"], ns(e["ts"]), ns(e["ts"] + e["dur"]))
        for e in raw.slices
        if e.get("args", {}).get("Task Type") == "MsTx"
    }
    assert {(row[0], row[4], row[5]) for row in rows if row[4] is not None} == shown
