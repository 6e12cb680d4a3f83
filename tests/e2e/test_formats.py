"""Every kind of result opens in the browser: one entry a kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import Plugin
from tests.e2e.tensorboard import tensorboard

Open = Callable[..., Plugin]


@dataclass(frozen=True)
class Kind:
    """A run of a fixture of fixtures/results or fixtures/recorded, what its worker is called, and for each view that it has a text that it shows.

    absent: words that no view may show.
    """

    fixture: str
    worker: str
    views: dict[str, str]
    absent: tuple[str, ...] = ()


KINDS = {
    "database": Kind(
        "db_only",
        "rank 0 · node0_31780",
        {
            "overview": "From databases",
            "trace": "Ascend Hardware",
            "kernel": "aclnn",
            "operator": "aten::linear",
            "memory": "PTA",
            "doctor": "ascend_pytorch_profiler_0.db",
        },
        absent=("kernel_details.csv", "trace_view.json"),
    ),
    "text_and_database": Kind(
        "text_and_db",
        "rank 0 · node0_31780",
        {"overview": "ascend_pytorch_profiler_0.db: Kernels, Operator statistic", "kernel": "aclnn"},
    ),
    "links": Kind(
        "links",
        "rank 0 · node0_31780",
        {"distributed": "Use of the links", "trace": "HCCS", "doctor": "hccs.csv"},
    ),
    "kineto": Kind(
        "kineto_gpu",
        "rank 0 · node1_4242",
        {
            "overview": "NVIDIA H200, GPU 0",
            "trace": "python3",
            "kernel": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "operator": "aten::addmm",
            "memory": "aten::mm",
            "distributed": "allreduce",
            "doctor": "Trace of torch.profiler",
        },
        absent=("AI Core", "NPU:", "kernel_details"),
    ),
    "mindinsight_cluster": Kind(
        "mindinsight_cluster",
        "rank 0",
        {
            "overview": "MindSpore Profiler up to 2.2",
            "step_trace": "mean of 5 steps (2 to 6)",
            "distributed": "Link 0→1 by SDMA, recorded by rank 1",
            "doctor": "step_trace_raw_0_detail_time.csv",
        },
        absent=("ProfilerStep",),
    ),
    "mindinsight_single": Kind(
        "mindinsight_single",
        "rank 0",
        {
            "step_trace": "Gradients/Momentum-op120",
            "kernel": "Default/network/MatMul-op13",
            "trace": "Stream #0",
            "data_pipeline": "TFReader",
            "doctor": "framework_raw_0.csv",
        },
    ),
    "mindinsight_hosts": Kind("mindinsight_hosts", "rank 0 · host 2", {"step_trace": "mean of 5 steps (2 to 6)"}),
    "mindinsight_broken": Kind(
        "mindinsight_broken", "rank 0", {"step_trace": "mean of 4 steps", "distributed": "AllReduce-op700"}
    ),
    "mindspore": Kind(
        "mindspore_two_ranks",
        "rank 0 · node0_31780",
        {
            "overview": "MindSpore 2.7.0",
            "trace": "MindSpore",
            "kernel": "aclnnAddmm_MatMulCommon_MatMulV2",
            "operator": "Kernel::KernelLaunch::Default",
            "memory": "MindSpore+GE",
            "distributed": "hcom_allReduce",
            "doctor": "Operator shapes",
        },
        absent=("torch_npu", "PTA"),
    ),
    "mindspore_db": Kind(
        "mindspore_db",
        "rank 0 · node0_31780",
        {
            "overview": "ascend_mindspore_profiler_0.db",
            "trace": "CANN",
            "kernel": "MatMulV2",
            "distributed": "hcom_allReduce",
        },
    ),
    "mindspore_windows": Kind(
        "mindspore_windows", "window 2-3 · steps 0-1", {"overview": "Dynamic window", "kernel": "MatMulV2"}
    ),
    "mindspore_mixed": Kind("mindspore_mixed", "rank 0", {"overview": "MindSpore Profiler", "distributed": "rank 1"}),
    "mindspore_data": Kind("mindspore_data", "rank 0 · node0_31780", {"data_pipeline": "Batch", "operator": "GetNext"}),
    "msprof": Kind(
        "msprof",
        "device 0",
        {
            "overview": "msprof",
            "trace": "Ascend Hardware",
            "kernel": "FlashAttentionScore",
            "operator": "aclrtMemcpyAsync",
            "memory": "Modules",
        },
    ),
    "msprof_pieces": Kind(
        "msprof_pieces",
        "device 0",
        {
            "trace": "Ascend Hardware",
            "step_trace": "step_trace_20250615070512.csv",
            "kernel": "FlashAttentionScore",
            "memory": "PTA",
            "doctor": "ddr_20250615070512.csv",
        },
    ),
    "msprof_db": Kind(
        "msprof_db",
        "device 0",
        {
            "overview": "msprof_20250615070512.db",
            "trace": "Ascend Hardware",
            "kernel": "FlashAttentionScore",
            "memory": "Modules",
            "doctor": "msprof's database",
        },
        absent=("op_summary",),
    ),
    "cluster_text": Kind(
        "cluster_text/cluster_analysis_output",
        "rank 0",
        {"overview": "Step 5", "distributed": "hcom_receive", "doctor": "cluster_communication.json"},
    ),
    "cluster_db": Kind(
        "cluster_db/cluster_analysis_output", "rank 0", {"overview": "Step 11", "distributed": "hcom_allReduce"}
    ),
    "kineto_exported": Kind("kineto_exported", "worker", {"kernel": "Memset (Device)", "operator": "aten::relu"}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """All fixtures, each as a run of its own."""
    logdir = tmp_path_factory.mktemp("formats")
    for fixture in {kind.fixture.partition("/")[0] for kind in KINDS.values()}:
        group = next(group for group in ("results", "recorded") if (FIXTURES / group / fixture).exists())
        (logdir / fixture).symlink_to(FIXTURES / group / fixture, target_is_directory=True)
    with tensorboard("--logdir", str(logdir), cache=tmp_path_factory.mktemp("cache") / "cache") as url:
        yield url


@pytest.mark.parametrize("name", KINDS)
def test_every_view_of_it(open_plugin: Open, server: str, name: str) -> None:
    kind = KINDS[name]
    plugin = open_plugin(server)
    plugin.open()
    side = plugin.frame.locator("nav.side")
    side.locator('h2:text-is("Run") + *').first.locator("button").first.click()
    plugin.frame.get_by_role("option", name=re.compile(rf"^{kind.fixture.replace('/', '.')}(?!\w)")).click()
    for view, text in kind.views.items():
        plugin.frame.locator(f'nav.side a[data-view="{view}"]').click()
        plugin.ready(view)
        assert plugin.state() == "ready", view
        # The label tells the steps once the catalog knows that they are read, a moment after the view does.
        expect(plugin.frame.locator(".crumbs")).to_contain_text(kind.worker)
        if view != "trace":  # its text is on a canvas
            plugin.frame.locator("main").get_by_text(text).first.wait_for()
        shown = plugin.frame.locator("main").inner_text()
        assert not [word for word in kind.absent if word in shown], view


def test_communication_that_msprof_summed_up(open_plugin: Open, tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(FIXTURES / "results" / "msprof_pieces", target_is_directory=True)
    with tensorboard("--logdir", str(tmp_path), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        plugin.open("kernel")
        plugin.ready("kernel")
        plugin.frame.get_by_role("tab", name="Communication", exact=True).click()
        plugin.frame.locator("main").get_by_text("hcom_allReduce_", exact=True).last.wait_for()
        plugin.close()


def compare_with(plugin: Plugin, name: str | re.Pattern[str]) -> Locator:
    """Choose another result to compare with; gives the page of Diff."""
    side = plugin.frame.locator("nav.side")
    side.locator('h2:text-is("Compare with") + *').first.locator("button").first.click()
    plugin.frame.get_by_role("option", name=name).first.click()
    side.locator('a[data-view="diff"]').click()
    plugin.ready("diff")
    main = plugin.frame.locator("main")
    main.get_by_text("Where the time changed").first.wait_for()
    return main


def test_a_gpu_is_compared_with_an_npu(open_plugin: Open, tmp_path: Path) -> None:
    for fixture in ("kineto_gpu", "level1"):
        (tmp_path / fixture).symlink_to(FIXTURES / "results" / fixture, target_is_directory=True)
    with tensorboard("--logdir", str(tmp_path), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        plugin.open("overview")
        main = compare_with(plugin, "level1")
        main.get_by_text("Matmul").first.wait_for()
        main.get_by_text("aten::addmm").first.wait_for()
        plugin.close()


def test_mindspore_is_compared_with_torch_by_type(open_plugin: Open, tmp_path: Path) -> None:
    for fixture in ("mindspore_two_ranks", "two_ranks"):
        (tmp_path / fixture).symlink_to(FIXTURES / "results" / fixture, target_is_directory=True)
    with tensorboard("--logdir", str(tmp_path), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        plugin.open("overview")
        main = compare_with(plugin, re.compile("^two_ranks"))
        main.get_by_text("MatMulV2", exact=True).first.wait_for()
        assert "aclnn" not in main.inner_text()
        plugin.close()


def test_raw_data_of_mindspore_tell_what_to_do(open_plugin: Open, tmp_path: Path) -> None:
    (tmp_path / "raw").symlink_to(FIXTURES / "results" / "mindspore_raw", target_is_directory=True)
    with tensorboard("--logdir", str(tmp_path), cache=tmp_path / "cache") as url:
        plugin = open_plugin(url)
        plugin.open()
        plugin.frame.get_by_text("from mindspore.profiler.profiler import analyse").first.wait_for()
        plugin.close()


def _choose_run(plugin: Plugin, fixture: str) -> None:
    plugin.open()
    plugin.frame.locator('nav.side h2:text-is("Run") + *').first.locator("button").first.click()
    plugin.frame.get_by_role("option", name=re.compile(rf"^{fixture}(?!\w)")).click()


def test_steps_of_a_legacy_result_are_chosen_in_the_list_and_in_a_chart(open_plugin: Open, server: str) -> None:
    plugin = open_plugin(server)
    _choose_run(plugin, "mindinsight_cluster")
    plugin.frame.locator('nav.side a[data-view="step_trace"]').click()
    plugin.ready("step_trace")
    main = plugin.frame.locator("main")
    main.get_by_role("button", name=re.compile("Step: Mean")).click()
    plugin.frame.get_by_role("option", name=re.compile("^Step 3")).click()
    main.get_by_role("heading", name="Step 3", exact=True).wait_for()
    assert main.locator(".steps-lane i").count() == 4
    chart = main.locator(".steps-trend").last
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": box["width"] - 12, "y": box["height"] / 2})
    main.get_by_role("heading", name="Step 6", exact=True).wait_for()


def test_findings_of_means_and_of_recorded_averages(open_plugin: Open, server: str) -> None:
    plugin = open_plugin(server)
    _choose_run(plugin, "mindinsight_cluster")
    plugin.frame.locator('nav.side a[data-view="distributed"]').click()
    plugin.ready("distributed")
    main = plugin.frame.locator("main")
    main.get_by_text("of the means, recomputed from the steps in the files", exact=True).wait_for()
    titles = main.locator('[data-table="distributed.trajectory"] [role=columnheader]').all_inner_texts()
    units = {title.split()[-1] for title in titles if title.split()[-1] in ("ns", "µs", "ms", "s")}
    assert len(units) == 1, (titles, "parts of a step are read against each other")
    main.get_by_role("button", name=re.compile("Step: mean")).click()
    plugin.frame.get_by_role("option", name="recorded average").click()
    main.get_by_text("as MindInsight judges").wait_for()
    main.get_by_role("button", name=re.compile("Stage: all")).click()
    plugin.frame.get_by_role("option", name="2", exact=True).click()
    main.get_by_text("rank 2 · stage 2").wait_for()
    assert main.get_by_text("rank 0 · stage 1").count() == 0


def test_a_queue_of_the_data_pipeline_is_chosen(open_plugin: Open, server: str, shot) -> None:  # type: ignore[no-untyped-def]
    plugin = open_plugin(server)
    _choose_run(plugin, "mindspore_data")
    plugin.frame.locator('nav.side a[data-view="data_pipeline"]').click()
    plugin.ready("data_pipeline")
    main = plugin.frame.locator("main")
    queue = main.get_by_role("button", name=re.compile(r"Queue behind TFReader"))
    queue.click()
    main.locator("figcaption").get_by_text("Queue behind TFReader").wait_for()
    assert queue.get_attribute("aria-pressed") == "true"
    main.locator(".data-chart path").wait_for(state="attached")  # a flat line has no height
    shot(plugin, "data_pipeline")
