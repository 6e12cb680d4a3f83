"""Metric columns: those of the specification, and cells that agree with the kernel, its duration and the chip."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.launch import Launch
from tb_npu_plugin.capture.simulation.records import Process
from tb_npu_plugin.capture.writers.metrics import Figures
from tb_npu_plugin.schema.chips import CHIPS, Chip
from tb_npu_plugin.schema.metric_sets import SETS, columns
from tb_npu_plugin.schema.settings import STORED_METRICS
from tests.support.kernel_columns import check_metrics

BANDWIDTH, ACCESS, CACHE = "ACL_AICORE_MEMORY_BANDWIDTH", "ACL_AICORE_MEMORY_ACCESS", "ACL_AICORE_L2_CACHE"
BF16 = "c10::BFloat16"
SMALL, LARGE = (2048, 4096), (16384, 8192)
OPERATORS = (
    ("aten::mm", (SMALL, (4096, 11008))),
    ("aten::mm", (LARGE, (8192, 8192))),
    ("aten::add", (SMALL, SMALL)),
    ("aten::add", (LARGE, LARGE)),
    ("aten::zero_", (LARGE,)),
    ("aten::zero_", ((16,),)),
    ("aten::sum", (LARGE,)),
    ("npu::npu_fusion_attention", ((1, 32, 2048, 128),) * 3),
    ("npu::npu_apply_adam_w", (SMALL,) * 4),
    ("aten::copy_", (LARGE, LARGE)),
)


def cells(chip: Chip, metrics: str) -> Iterator[tuple[Launch, dict[str, float]]]:
    """Each kernel with its cells by header, in the fastest run that the model gives."""
    figures = Figures(metrics, Process(1, 0, 0, 1, 0, chip=chip))
    factory = KernelFactory(chip)
    for name, shapes in OPERATORS:
        for launch in factory.launches(name, shapes, (BF16,) * len(shapes)):
            (text,) = figures.texts([launch.kernel], [int(launch.ns * 0.96)])
            yield launch, dict(zip(figures.names, map(float, text.split(","))))


def whole(found: dict[str, float], name: str) -> float:
    """Sum over the kinds of cores."""
    return sum(found.get(f"{core}_{name}".lstrip("_"), 0.0) for core in ("", "aic", "aiv"))


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_cells_of_a_chip(chip: Chip) -> None:
    """Ratios are shares, times are inside the kernel, and bytes from main memory are the same by bandwidth and time, as they
    were carried, and by lines that missed the L2 cache."""
    of_sets = {metrics: list(cells(chip, metrics)) for metrics in SETS}
    for launch, found in itertools.chain(*of_sets.values()):
        assert all(0 <= value <= 1 for name, value in found.items() if name.endswith("_ratio")), launch.kernel.name
        assert all(0 <= value <= launch.ns / 1000 for name, value in found.items() if name.endswith("time(us)"))
        assert all(value >= 0 for value in found.values())
        assert found.get("cube_utilization(%)", 0) <= 100
    for (launch, rates), (_, carried), (_, lines) in zip(of_sets[BANDWIDTH], of_sets[ACCESS], of_sets[CACHE]):
        dur, work = int(launch.ns * 0.96), launch.kernel.work
        assert whole(rates, "main_mem_read_bw(GB/s)") * dur == pytest.approx(work.main_read, abs=0.001 * dur)
        assert whole(carried, "read_main_memory_datas(KB)") * 1024 == pytest.approx(work.main_read, abs=2)
        misses = sum(whole(lines, f"r{port}_read_cache_miss_allocate") for port in (0, 1))
        hits = sum(whole(lines, f"r{port}_read_cache_hit") for port in (0, 1))
        assert misses * 512 == pytest.approx(work.main_read, abs=2048)
        assert (misses + hits) * 512 == pytest.approx(work.read, abs=4096)
        assert whole(lines, "write_cache_hit") * 512 == pytest.approx(work.kept, abs=1024)


@pytest.mark.parametrize("metrics", STORED_METRICS)
def test_columns_are_those_of_the_specification(metrics: str) -> None:
    for unified in (False, True):
        check_metrics(list(columns(STORED_METRICS[metrics], not unified)), metrics, unified)
