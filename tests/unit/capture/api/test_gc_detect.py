"""Garbage collections are recorded, from the length on that gc_detect_threshold gives."""

from __future__ import annotations

import gc

import pytest

from tb_npu_plugin.capture.api.enums import AiCMetrics, ProfilerActivity
from tb_npu_plugin.capture.api.experimental_config import _ExperimentalConfig
from tb_npu_plugin.capture.api.profile import profile
from tests.unit.capture.api.conftest import Recorded

CPU, NPU = ProfilerActivity
QUIET = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone)


def test_garbage_is_the_frameworks(recorded: Recorded) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, gc_detect_threshold=0)
    with profile(activities=[NPU], experimental_config=config):
        gc.collect()
    [recorder] = recorded.recorders
    assert recorder.settings.gc_threshold is None
    assert recorder.collections == []


def test_garbage_collections(recorded: Recorded) -> None:
    config = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, gc_detect_threshold=0)
    before = list(gc.callbacks)
    with profile(experimental_config=config):
        gc.collect()
    gc.collect()
    [recorder] = recorded.recorders
    assert len(recorder.collections) >= 1
    assert all(start <= end for start, end in recorder.collections)
    assert gc.callbacks == before


@pytest.mark.parametrize("threshold", [60_000, float("inf"), 10**400])
def test_garbage_collections_that_are_short(threshold: float, recorded: Recorded) -> None:
    slow = _ExperimentalConfig(aic_metrics=AiCMetrics.AiCoreNone, gc_detect_threshold=threshold)
    with profile(experimental_config=slow):
        gc.collect()
    assert recorded.take() == ["prepare", "start", "stop", "finalize"]
    assert recorded.recorders[0].collections == []
