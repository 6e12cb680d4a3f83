"""Rules about pipelines and overlap on hand-made captures: what triggers them, and what must not."""

from __future__ import annotations

from typing import Any

import pytest

from tb_npu_plugin.analysis.findings import exposed_communication, pipeline
from tb_npu_plugin.analysis.findings.model import Finding
from tb_npu_plugin.analysis.findings.pipeline import StageTimes
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.bubble import BubbleParts, saved_by_equal_stages, split_bubble
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.communicators import group_hash
from tests.support.span import TestSpan, table_of

MS = 1_000_000
GROUP = "10.0.0.1%eth0_60000_1"


def stage(number: int, batches: int, free: int = 40, layers: int = 0, **more: Any) -> TestSpan:
    """A rank of two stages that receives a micro-batch each 10 ms, in a step of 100 ms of which `free` are bubble. layers: that
    its kernels show; more: arguments of the job, and the format."""
    ops = [
        {"step": "1", "kind": "p2p", "name": f"hcom_receive__{number}_{at}_1", "group": "1", "start_ns": 10 * at * MS}
        for at in range(batches)
    ]
    ops = [{**one, "elapse_ns": 5 * MS, "transit_ns": 5 * MS, "wait_ns": 0, "sync_ns": 0} for one in ops]
    ops += [{**one, "name": "hcom_send__1_99_1", "start_ns": 95 * MS} for one in ops[:1]]
    kernels = [{"step": "1", "type": "MatMul", "name": "MatMul", "core": "AI_CORE", "start_ns": 0, "dur_ns": 60 * MS}]
    attention = {"type": "FlashAttentionScoreGrad", "name": "a", "core": "MIX_AIC", "start_ns": 0, "dur_ns": 1}
    kernels += [{"step": "1", **attention}] * (layers * batches)
    step = {"computing": 60, "communication_not_overlapped": 40, "overlapped": 0, "free": 0, "bubble": free}
    budget = {"step": "1", "device_id": 0} | {key: time * MS for key, time in step.items()}
    rows = {"comm_ops": ops, "kernels": kernels, "step_trace": [budget]}
    args = {"pipeline_model_parallel_size": 2, "world_size": 2} | more.get("args", {})
    tables = {name: table_of(name, found) for name, found in rows.items()}
    capture, format = Capture(rank=number, distributed_args=args), more.get("format", "torch_npu")
    return TestSpan(tables, capture, token=f"s{number}", format=format)


def test_a_bubble_needs_the_computing_of_stages() -> None:
    spans = [stage(number, 2) for number in (0, 1)]
    for span in spans:
        del span.tables["step_trace"], span.tables["kernels"]
    missing = pipeline.BUBBLE.missing(RunData(spans))
    assert missing is not None and missing.missing.code == "unchecked.no_step_times"


MEGATRON = {"tensor_model_parallel_size": 1}


@pytest.mark.parametrize(
    ("args", "format", "bubble_fix", "stage_fix"),
    [
        (MEGATRON, "torch_npu", "--num-layers-per-virtual-pipeline-stage", "--decoder-last-pipeline-num-layers"),
        ({}, "torch_npu", "torch.distributed.pipelining", "Move layers away from stage 2."),
        (MEGATRON, "mindspore", "parallel_config.micro_batch_num", "model_config.offset"),
        ({}, "cluster", "virtual pipeline stages", "Move layers away from stage 2."),
    ],
)
def test_advice_about_pipelines_speaks_the_framework(
    args: dict[str, int], format: str, bubble_fix: str, stage_fix: str
) -> None:
    run = RunData([stage(number, 2, layers=4, args=args, format=format) for number in (0, 1)])
    (found,) = pipeline.BUBBLE.find(run)
    assert [bubble_fix in text for text in found.fix] == [True], found.fix
    times = {1: StageTimes(40, 40, 0), 2: StageTimes(80, 80, 0)}  # 10 ms a layer: two of stage 2 go to stage 1
    layers, settings = pipeline.advice(run, 2, times)
    assert "about 2 of the 4 layers" in layers and stage_fix in settings


@pytest.mark.parametrize(
    ("batches", "free", "expected"),
    [
        (2, 40, 60 * (1 / 2 - 1 / 8)),  # 60 ms of work
        (2, 10, 10),  # no more than the bubble
        (8, 40, None),
    ],
)
def test_a_bubble_costs_what_more_micro_batches_would_save(batches: int, free: int, expected: float | None) -> None:
    run = RunData([stage(0, batches, free), stage(1, batches, free)])
    assert pipeline.BUBBLE.missing(run) is None
    found = pipeline.BUBBLE.find(run)
    assert [one.cost_ns / MS for one in found] == ([] if expected is None else [pytest.approx(expected)])


def test_the_first_stage_alone_shows_the_bubble() -> None:
    """Its metadata name the number of stages. Without receives, the number of micro-batches is unknown."""
    run = RunData([stage(0, 2)])
    assert run.stage_count == 2 and [one.rule for one in pipeline.BUBBLE.find(run)] == ["bubble"]
    missing = pipeline.BUBBLE.missing(RunData([stage(0, 0)]))
    assert missing is not None and missing.missing.code == "unchecked.no_batches"


def test_a_bubble_needs_known_stages() -> None:
    spans = [stage(0, 2), stage(1, 2)]
    for span in spans:
        span.capture = Capture(rank=span.capture.rank)
    assert pipeline.BUBBLE.missing(RunData(spans)) is not None
    assert pipeline.BUBBLE.find(RunData(spans)) == []


def test_the_bubble_is_split_into_unequal_stages_few_micro_batches_and_the_rest() -> None:
    """The figures of a recorded run with two stages and two micro-batches, us."""
    works = [231_290, 400_450]
    parts = split_bubble(313_080, works[0], works, 2)
    assert (parts.uneven, parts.batches, parts.idle) == (126_870, 157_935, 28_275)
    assert saved_by_equal_stages(works, 2) == 42_290 and saved_by_equal_stages(works, 0) == 84_580
    assert split_bubble(1_000, works[1], works, 2) == BubbleParts(0, 1_000, 0)


def test_layers_that_move_to_another_stage_take_their_communication_along() -> None:
    spans = [stage(number, 2) for number in (0, 1)]
    for span, computing, bubble in zip(spans, (40, 60), (50, 0)):
        step = {"computing": computing, "communication_not_overlapped": 100 - computing, "overlapped": 0, "free": 0}
        budget = {key: time * MS for key, time in {**step, "bubble": bubble}.items()}
        span.tables["step_trace"] = table_of("step_trace", [{"step": "1", "device_id": 0, **budget}])
    (found,) = pipeline.STAGE_IMBALANCE.find(RunData(spans))
    # Equal computing saves half of 60 - 50 ms in two micro-batches; of each 60 ms the stage also communicates 40.
    assert (found.subject.stage, found.cost_ns) == (2, round(5 * MS * 100 / 60))
    assert "50 %" in str(found.message)


def rank(
    number: int, kernels: tuple[tuple[int, int], ...], role: str = "dp", megabytes: int = 0, steps: int = 1
) -> TestSpan:
    """Three collectives of 10 ms at 10, 30 and 50 ms, in equal steps each second. kernels: start and duration, ms; megabytes:
    that each sends."""
    spent = {"elapse_ns": 10 * MS, "transit_ns": 10 * MS, "wait_ns": 0, "sync_ns": 0, "group": group_hash(GROUP)}
    times = {
        "computing": sum(took for _, took in kernels),
        "communication_not_overlapped": 30,
        "overlapped": 0,
        "free": 0,
        "bubble": 0,
    }
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("comm_ops", "kernels", "step_trace", "comm_bandwidth")
    }
    for second in range(steps):
        step, begin = str(second + 1), 1000 * second
        ops = [
            {"step": step, "kind": "collective", "name": f"hcom_allReduce__1_{at}_1", "start_ns": (begin + start) * MS}
            for at, start in enumerate((10, 30, 50))
        ]
        sent = {"step": step, "kind": "p2p", "name": "hcom_send__1_3_1", "start_ns": (begin + 70) * MS}
        rows["comm_ops"] += [{**one, **spent} for one in (*ops, sent)]
        matmul = {"step": step, "type": "MatMul", "name": "MatMul", "core": "AI_CORE"}
        rows["kernels"] += [{**matmul, "start_ns": (begin + at) * MS, "dur_ns": dur * MS} for at, dur in kernels]
        rows["step_trace"].append({"step": step, "device_id": 0, **{key: time * MS for key, time in times.items()}})
        moved = {"group": spent["group"], "transport": "HCCS", "time_ns": 10 * MS, "rollup": 0}
        rows["comm_bandwidth"] += [
            {"step": step, "kind": one["kind"], "name": one["name"], "size_bytes": megabytes << 20, **moved}
            for one in ops
            if megabytes
        ]
    groups = {GROUP: {"group_name": role, "global_ranks": [0, 1]}, "other": {"group_name": "tp"}}
    tables = {name: table_of(name, found) for name, found in rows.items()}
    return TestSpan(tables, Capture(rank=number, groups=groups), token=f"s{number}")


BETWEEN = ((0, 10), (20, 10), (40, 10), (60, 10))


@pytest.mark.parametrize(
    ("kernels", "role", "expected"),
    [
        (BETWEEN, "dp", 20),  # 10 ms of computing follow each of the first two collectives
        (((0, 10), (20, 4), (40, 4)), "dp", 8),
        (((0, 10), (60, 10)), "dp", None),  # nothing runs between them
        (((0, 20), (20, 20)), "dp", None),  # computing runs beside the first one
        (BETWEEN, "tp", None),  # the next layer needs the result
    ],
)
def test_exposed_collectives_cost_what_they_would_save(
    kernels: tuple[tuple[int, int], ...], role: str, expected: int | None
) -> None:
    run = RunData([rank(number, kernels, role) for number in (0, 1)])
    assert exposed_communication.RULE.missing(run) is None
    found: list[Finding] = exposed_communication.find(run)
    assert [one.cost_ns / MS for one in found] == ([] if expected is None else [expected])


def test_large_collectives_at_the_end_could_have_begun_before() -> None:
    """All but the last 25 MB of 500 MB, and at most what is computed."""
    after, short = ((0, 10), (60, 90)), ((0, 10), (60, 10))
    found = [exposed_communication.find(RunData([rank(n, one, "dp", 500) for n in (0, 1)])) for one in (after, short)]
    assert [one.cost_ns / MS for (one,) in found] == [3 * 9.5, 20]
    assert exposed_communication.find(RunData([rank(n, after, "dp", 300) for n in (0, 1)])) == []


def test_time_saved_is_that_of_a_mean_step() -> None:
    """Two equal steps, in each of which the collectives could begin 20 ms earlier: what it computes."""
    run = RunData([rank(number, ((0, 10), (60, 10)), "dp", 500, steps=2) for number in (0, 1)])
    assert [one.cost_ns / MS for one in exposed_communication.find(run)] == [20]


def test_one_rank_that_computes_beside_its_collectives_is_enough() -> None:
    assert exposed_communication.find(RunData([rank(0, BETWEEN), rank(1, ((0, 60),))])) == []
