"""Results of every kind open in the browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, expect

from tests.conftest import FIXTURES
from tests.e2e.conftest import Open, Plugin

RESULTS = sorted(folder.name for group in ("results", "recorded") for folder in (FIXTURES / group).iterdir())


@dataclass(frozen=True)
class Kind:
    """Label of the first worker, a text of each view, and texts that no view may show."""

    worker: str
    views: dict[str, str]
    absent: tuple[str, ...] = ()


KINDS = {
    "db_only": Kind(
        "rank 0 · node0_31780",
        {
            "overview": "From databases",
            "kernel": "aclnn",
            "operator": "aten::linear",
            "memory": "PTA",
            "doctor": "ascend_pytorch_profiler_0.db",
        },
        absent=("kernel_details.csv", "trace_view.json"),
    ),
    "kineto_gpu": Kind(
        "rank 0 · node1_4242",
        {
            "overview": "NVIDIA H200, GPU 0",
            "kernel": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "operator": "aten::addmm",
            "memory": "aten::mm",
            "distributed": "allreduce",
            "doctor": "Trace of torch.profiler",
        },
        absent=("AI Core", "NPU:", "kernel_details"),
    ),
    "mindinsight_cluster": Kind(
        "rank 0",
        {
            "overview": "MindSpore Profiler up to 2.2",
            "step_trace": "mean of 5 steps (2 to 6)",
            "distributed": "Link 0→1 by SDMA, recorded by rank 1",
            "doctor": "step_trace_raw_0_detail_time.csv",
        },
        absent=("ProfilerStep",),
    ),
    "mindspore_two_ranks": Kind(
        "rank 0 · node0_31780",
        {
            "overview": "MindSpore 2.7.0",
            "kernel": "aclnnAddmm_MatMulCommon_MatMulV2",
            "operator": "Kernel::KernelLaunch::Default",
            "memory": "MindSpore+GE",
            "distributed": "hcom_allReduce",
            "doctor": "Operator shapes",
        },
        absent=("torch_npu", "PTA"),
    ),
    "msprof_pieces": Kind(
        "device 0",
        {
            "step_trace": "step_trace_20250615070512.csv",
            "kernel": "FlashAttentionScore",
            "memory": "PTA",
            "doctor": "ddr_20250615070512.csv",
        },
    ),
    "cluster_text": Kind(
        "rank 0", {"overview": "Step 5", "distributed": "hcom_receive", "doctor": "cluster_communication.json"}
    ),
}


def choose_run(open_plugin: Open, server: str, fixture: str) -> Plugin:
    plugin = open_plugin(server)
    plugin.open()
    plugin.choose("Run", re.compile(rf"^{fixture}(?!\w)"))
    return plugin


@pytest.mark.parametrize("name", KINDS)
def test_views_of_a_kind(open_plugin: Open, results_server: str, name: str) -> None:
    kind = KINDS[name]
    plugin = choose_run(open_plugin, results_server, name)
    for view, text in kind.views.items():
        plugin.switch(view)
        assert plugin.state() == "ready", view
        # The label names the steps once the catalog lists them, after the view is ready.
        expect(plugin.frame.locator(".crumbs")).to_contain_text(kind.worker)
        plugin.main.get_by_text(text).first.wait_for()
        shown = plugin.main.inner_text()
        assert not [word for word in kind.absent if word in shown], view


@pytest.mark.full
@pytest.mark.parametrize("name", RESULTS)
def test_every_view_of_every_result_opens(open_plugin: Open, results_server: str, name: str) -> None:
    plugin = open_plugin(results_server)
    span = plugin.span_of(name)
    if not span:
        assert [item for item in plugin.catalog()["skipped"] if name in item["path"]], "neither opened nor listed"
        return
    plugin.open("overview", **span)
    views = plugin.frame.locator("nav.side a[data-view]").evaluate_all("links => links.map(link => link.dataset.view)")
    for view in views:
        plugin.open(view, wait=view != "diff", **span)
        if view == "diff":  # some results have no counterpart, or nothing to compare
            done = plugin.main.locator(".view-frame:is([data-state=ready], [data-state=missing])")
            done.or_(plugin.main.get_by_text("Choose the second")).first.wait_for()
        else:
            assert plugin.state() in ("ready", "missing"), view


def test_communication_summary_of_msprof(open_plugin: Open, results_server: str) -> None:
    plugin = choose_run(open_plugin, results_server, "msprof_pieces")
    plugin.switch("kernel")
    plugin.frame.get_by_role("tab", name="Communication", exact=True).click()
    plugin.main.get_by_text("hcom_allReduce_", exact=True).last.wait_for()


def compare(open_plugin: Open, server: str, run: str, other: str) -> Locator:
    """Diff of two runs."""
    plugin = choose_run(open_plugin, server, run)
    plugin.choose("Compare with", re.compile(rf"^{other}(?!\w)"), other)
    plugin.switch("diff")
    plugin.main.get_by_text("Where the time changed").first.wait_for()
    return plugin.main


def test_a_gpu_is_compared_with_an_npu(open_plugin: Open, results_server: str) -> None:
    main = compare(open_plugin, results_server, "kineto_gpu", "level1")
    main.get_by_text("Matmul").first.wait_for()
    main.get_by_text("aten::addmm").first.wait_for()


def test_mindspore_is_compared_with_torch_by_type(open_plugin: Open, results_server: str) -> None:
    main = compare(open_plugin, results_server, "mindspore_two_ranks", "two_ranks")
    main.get_by_text("MatMulV2", exact=True).first.wait_for()
    assert "aclnn" not in main.inner_text()


def test_step_of_a_mindinsight_result_is_chosen_in_the_list_and_in_a_chart(
    open_plugin: Open, results_server: str
) -> None:
    plugin = choose_run(open_plugin, results_server, "mindinsight_cluster")
    plugin.switch("step_trace")
    main = plugin.main
    plugin.choose_period("Step 3")
    main.get_by_role("heading", name="Step 3", exact=True).wait_for()
    expect(main.locator(".steps-lane i")).to_have_count(4)
    chart = main.locator(".steps-trend").last
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": box["width"] - 12, "y": box["height"] / 2})
    main.get_by_role("heading", name="Step 6", exact=True).wait_for()


def test_means_and_recorded_averages_of_mindinsight(open_plugin: Open, results_server: str) -> None:
    plugin = choose_run(open_plugin, results_server, "mindinsight_cluster")
    plugin.switch("distributed")
    main = plugin.main
    main.get_by_text("by means recomputed from the steps in the files", exact=True).wait_for()
    titles = main.locator('[data-table="distributed.trajectory"] [role=columnheader]').all_inner_texts()
    units = {title.split()[-1] for title in titles if title.split()[-1] in ("ns", "µs", "ms", "s")}
    assert len(units) == 1, (titles, "all parts of a step have one unit")
    main.get_by_role("button", name=re.compile("Step: mean")).click()
    plugin.frame.get_by_role("option", name="recorded average").click()
    main.get_by_text("as MindInsight judges").wait_for()
    main.get_by_role("button", name=re.compile("Stage: all")).click()
    plugin.frame.get_by_role("option", name="2", exact=True).click()
    rank = main.get_by_role("link", name="rank 2 · stage 2")
    rank.wait_for()
    expect(main.get_by_text("rank 0 · stage 1")).to_have_count(0)
    rank.click()
    plugin.ready("step_trace")
    expect(plugin.frame.locator("header")).to_contain_text("rank 2")


def test_queue_of_the_data_pipeline_is_chosen(
    open_plugin: Open, results_server: str, shot: Callable[[Plugin, str], None]
) -> None:
    plugin = choose_run(open_plugin, results_server, "mindspore_data")
    plugin.switch("data_pipeline")
    queue = plugin.main.get_by_role("button", name=re.compile(r"Queue behind TFReader"))
    queue.click()
    plugin.main.locator("figcaption").get_by_text("Queue behind TFReader").wait_for()
    expect(queue).to_have_attribute("aria-pressed", "true")
    plugin.main.locator(".data-chart path").wait_for(state="attached")  # a flat line has no height
    shot(plugin, "data_pipeline")


def test_bar_of_a_second_device_chooses_its_step(open_plugin: Open, results_server: str) -> None:
    plugin = choose_run(open_plugin, results_server, "two_devices")
    line = plugin.frame.locator(".step-line", has_text=re.compile(r"Step \d+ · NPU 7")).first
    line.get_by_role("button").click()
    expect(line.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    expect(plugin.frame.locator(".step-line [aria-pressed=true]")).to_have_count(1)
    title = plugin.frame.locator(".budget-card h2")
    expect(title).to_contain_text("NPU 7")
    plugin.quiet()
    plugin.go(plugin.page.url)
    expect(title).to_contain_text("NPU 7")
