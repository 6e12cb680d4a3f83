"""Garbage collections are recorded, from the length that gc_detect_threshold gives."""

from __future__ import annotations

import gc

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerActivity
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded

CPU, NPU = ProfilerActivity


@pytest.mark.parametrize(
    ("activity", "threshold", "records"),
    [
        (CPU, 0, True),
        (NPU, 0, False),
        (CPU, 60_000, False),
        (CPU, float("inf"), False),
        pytest.param(CPU, 10**400, False, id="large"),
    ],
)
def test_garbage_collections(activity: ProfilerActivity, threshold: float, records: bool, recorded: Recorded) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, gc_detect_threshold=threshold)
    before = list(gc.callbacks)
    with profile(activities=[activity], experimental_config=config):
        gc.collect()
    gc.collect()
    [recorder] = recorded.recorders
    assert bool(recorder.collections) == records
    assert all(start <= end for start, end in recorder.collections)
    assert (recorder.settings.gc_threshold is None) == (activity is NPU or threshold > 1e308)
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]
    assert gc.callbacks == before
