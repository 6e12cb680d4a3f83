"""Rules about kernels, memory and the capture: what is reported of hand-made figures, and of simulated runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.findings import (
    ai_cpu,
    block_dim,
    capture_quality,
    dynamic_shapes,
    format_conversions,
    frequency_drop,
    fusion,
    memory_use,
    optimizer,
    under_utilised,
    unit_bound,
)
from tb_npu_plugin.analysis.findings.diagnose import at_stake, diagnose, with_causes
from tb_npu_plugin.analysis.findings.kernel_costs import Costs, labels
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Subject, severity_of
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.kernels.bound import with_bound
from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.model import Capture
from tb_npu_plugin.schema.metrics import metric_column
from tests.support.mock import written
from tests.support.real_data import recording
from tests.support.span import TestSpan, found_spans, table_of

US, MS, MIB = 1_000, 1_000_000, 1 << 20
Kernel = dict[str, Any]
CAPTURE = Capture()


def kernel(type: str, us: float, step: int = 1, **more: Any) -> Kernel:
    core = "AI_CORE" if "MatMul" in type or "Conv" in type else "AI_VECTOR_CORE"
    defaults = {"name": type, "type": type, "core": core, "dur_ns": round(us * US), "step": str(step), "stream_id": 1}
    return {
        **defaults,
        "input_types": "DT_BF16",
        "input_shapes": "2,2",
        "block_dim": 24 if core == "AI_CORE" else 48,
        **more,
    }


def run_of(
    *ranks: Sequence[Kernel],
    step_us: float = 1000,
    capture: Capture = CAPTURE,
    format: str = "torch_npu",
    **tables: Any,
) -> RunData:
    """Steps of 1 ms with these kernels, one after the other."""
    spans = []
    for number, rows in enumerate(ranks):
        starts = np.cumsum([0, *(row["dur_ns"] for row in rows)])
        timed = [{"start_ns": int(start), **row} for start, row in zip(starts, rows)]
        metrics = [
            metric_column(key)[0] for key in {key for row in rows for key in row if key.startswith(("aic", "aiv_"))}
        ]
        device = replace(capture, rank=number, device_name="Ascend910B2")
        kernels = {"kernels": with_bound(table_of("kernels", timed, *metrics))} if rows else {}
        spans.append(TestSpan({**kernels, **tables}, device, token=f"s{number}", format=format))
    run = RunData(spans)
    steps = sorted({row["step"] for rows in ranks for row in rows}) or ["1"]
    times = [round(step_us * US)] * len(steps)
    vars(run).update({"step_times": list(zip(steps, times)), "whole_step_times": times, "lines": []})
    return run


def shown(found: list[Finding]) -> list[tuple[str | None, int]]:
    """(kernel, cost in us)."""
    return [(one.subject.kernel, round(one.cost_ns / US)) for one in found]


CPU = {"core": "AI_CPU"}
BUSY, IDLE = {"aic_mac_ratio": 0.9, "aic_mte2_ratio": 0.1}, {"aic_mac_ratio": 0.4, "aic_mte2_ratio": 0.1}
WAITS = {"aic_mac_ratio": 0.2, "aic_mte2_ratio": 0.96}
VECTOR = {"aiv_vec_ratio": 0.1, "aiv_mte2_ratio": 0.9}
ODD, EVEN = "32,1000;1000,4096", "32,1024;1024,4096"
BF16, FP32 = {"input_types": "DT_BF16;DT_BF16"}, {"input_types": "FLOAT;FLOAT"}


def clock(mhz: int, us: float) -> Kernel:
    return kernel("MatMulV3", us, aic_total_cycles=24 * mhz * round(us), aicore_time=round(us * US), aic_mte2_ratio=0.0)


ATTENTION = [kernel(type, 30) for type in ("BatchMatMulV2", "Muls", "Add", "SoftmaxV2", "BatchMatMulV2")]
SWIGLU = [kernel("Swish", 30), kernel("Mul", 10)]


@pytest.mark.parametrize(
    ("rule", "rows", "expected"),
    [
        (ai_cpu.RULE, [kernel("NonZero", 50, **CPU), kernel("NonZero", 5, **CPU)], [("NonZero", 55)]),
        (ai_cpu.RULE, [kernel("NonZero", 19, **CPU)] * 5, []),
        (ai_cpu.RULE, [kernel("hcom_allReduce_", 50, **CPU), kernel("Add", 50)], []),
        (ai_cpu.RULE, [kernel("NonZero", 9.9 + 20, **CPU)], [("NonZero", 30)]),
        (
            format_conversions.RULE,
            [kernel("TransData", 30), kernel("Cast", 20), kernel("Add", 50)],
            [("TransData", 50)],
        ),
        (format_conversions.RULE, [kernel("TransData", 9), kernel("Add", 50)], []),
        (format_conversions.RULE, [kernel("TransData", 20), kernel("Add", 500)], []),
        (block_dim.RULE, [kernel("MatMulV3", 60, block_dim=16)], [("MatMulV3", 20)]),
        (block_dim.RULE, [kernel("MatMulV3", 60, block_dim=24), kernel("MatMulV3", 60, block_dim=48)], []),
        (block_dim.RULE, [kernel("MatMulV3", 60, block_dim=36)], [("MatMulV3", 15)]),
        (block_dim.RULE, [kernel("Relu", 60, block_dim=24)], [("Relu", 30)]),
        (block_dim.RULE, [kernel("Relu", 60, block_dim=24, **VECTOR), kernel("TransData", 60, block_dim=2)], []),
        (block_dim.RULE, [kernel("Relu", 19, block_dim=1)] * 5, []),
        (under_utilised.RULE, [kernel("MatMulV3", 100, **IDLE)], [("MatMulV3", 60)]),
        (under_utilised.RULE, [kernel("MatMulV3", 100, **BUSY), kernel("MatMulV3", 100, **WAITS)], []),
        (under_utilised.RULE, [kernel("Relu", 100, aiv_vec_ratio=0.1, aiv_mte2_ratio=0.1)], []),
        (unit_bound.MEMORY_BOUND, [kernel("MatMulV3", 100, input_shapes=ODD, **BF16, **WAITS)], [("MatMulV3", 0)]),
        (unit_bound.MEMORY_BOUND, [kernel("MatMulV3", 100, input_shapes=EVEN, **BF16, **WAITS)], []),
        (unit_bound.MEMORY_BOUND, [kernel("MatMulV3", 100, input_shapes=ODD, **BF16, **BUSY)], []),
        (unit_bound.COMPUTE_BOUND, [kernel("Conv2D", 100, **FP32, **BUSY)], [("Conv2D", 0)]),
        (unit_bound.COMPUTE_BOUND, [kernel("Conv2D", 100, **BF16, **BUSY), kernel("Conv2D", 100, **FP32, **WAITS)], []),
        (frequency_drop.RULE, [clock(1800, 100), clock(1350, 200)], [("MatMulV3", 50)]),
        (frequency_drop.RULE, [clock(1620, 200)], [("MatMulV3", 20)]),
        (frequency_drop.RULE, [clock(1800, 500), clock(1600, 100)], []),
        (fusion.RULE, ATTENTION * 5, [("BatchMatMulV2", 600)]),
        *(
            (rule, [kernel(type, us, **more)], [(type, round(cost))] if us >= 20 else [])
            for us in (19.999, 20)
            for rule, type, cost, more in [
                (ai_cpu.RULE, "NonZero", us, CPU),
                (block_dim.RULE, "MatMulV3", us / 2, {"block_dim": 12}),
                (under_utilised.RULE, "MatMulV3", us * 0.6, IDLE),
            ]
        ),
        (fusion.RULE, ATTENTION * 4, []),
        (fusion.RULE, SWIGLU * 5, [("Mul", 50)]),
        (fusion.RULE, [*SWIGLU, kernel("DSAGenBitMask", 1)] * 5, [("Mul", 50)]),
        (fusion.RULE, [kernel("Swish", 30), kernel("Relu", 1), kernel("Mul", 10)] * 5, []),
        (fusion.RULE, [kernel("Swish", 30), kernel("Mul", 10, stream_id=2)] * 5, []),
    ],
)
def test_rules_about_kernels(rule: Rule, rows: list[Kernel], expected: list[tuple[str, int]]) -> None:
    assert shown(list(rule.find(run_of(rows)))) == expected


@pytest.mark.parametrize(("step_us", "is_named"), [(3999, True), (4000, True), (4001, False)])
@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        (ai_cpu.RULE, [kernel("NonZero", 40, **CPU)]),
        (block_dim.RULE, [kernel("MatMulV3", 80, block_dim=12)]),
        (under_utilised.RULE, [kernel("MatMulV3", 80, **{**IDLE, "aic_mac_ratio": 0.5})]),
    ],
)
def test_a_kernel_is_named_from_one_percent_of_the_step_on(
    rule: Rule, rows: list[Kernel], step_us: int, is_named: bool
) -> None:
    """Each costs 40 us."""
    assert bool(rule.find(run_of(rows, step_us=step_us))) == is_named


def test_the_rank_with_most_of_it_is_named_and_the_others_confirm() -> None:
    few, many = [kernel("TransData", 20), kernel("Add", 50)], [kernel("TransData", 40), kernel("Add", 50)]
    (found,) = format_conversions.RULE.find(run_of(few, many, [kernel("Add", 50)]))
    assert (found.subject.rank, found.cost_ns, found.confidence.kind, found.confidence.ranks) == (
        1,
        40 * US,
        "confirmed",
        2,
    )
    assert found.message.startswith("Format conversions: rank 1 spends 40.00 µs per step, 44 % of its computing")


@pytest.mark.parametrize(("others_us", "expected"), [(0, ("frequency_drop",)), (160, ())])
def test_a_low_clock_explains_a_straggler(others_us: int, expected: tuple[str, ...]) -> None:
    """The others wait 80 us for a rank that loses 50 us to its clock, unless they lose 40 us themselves."""
    others = [clock(1800, 100), clock(1350, others_us)] if others_us else [clock(1800, 100)]
    run = run_of([clock(1800, 100), clock(1350, 200)], others)
    (found,) = frequency_drop.find(run)
    wait = replace(found, rule="straggler", part="waiting", cost_ns=80 * US, costs={})
    assert [one.causes for one in with_causes([wait, found], run)] == [expected, ()]
    other = replace(wait, subject=Subject(1))
    assert with_causes([other, found], run)[0].causes == (), "another rank"


def test_rules_share_the_time_of_a_kernel_type() -> None:
    run = run_of([kernel("MatMulV3", 100, block_dim=12, **IDLE)])
    found = [*block_dim.RULE.find(run), *under_utilised.RULE.find(run)]
    assert [one.cost_ns for one in found] == [50 * US, 60 * US]
    assert at_stake(found, run) == 60 * US


@pytest.mark.parametrize(
    ("type", "types", "format", "expected"),
    [
        ("Mul", "DOUBLE", "torch_npu", "(DOUBLE) to a type that AI Core supports for it, such as `torch.float32`"),
        ("NonZero", "FLOAT", "mindspore", "such as `mindspore.float16`, `mindspore.bfloat16`."),
        ("Mul", "DT_INT16;FLOAT", "msprof", "(INT16) to a type that AI Core supports for it, such as `float32`"),
        ("Mul", "FLOAT", "torch_npu", "replace Mul by operators that AI Core supports"),
        ("Index", "FLOAT", "mindspore", "`mindspore.ops.where`"),
        ("Index", "FLOAT", "msprof", "replace Index by mask arithmetic."),
    ],
)
def test_advice_about_the_ai_cpu_follows_from_types_and_framework(
    type: str, types: str, format: str, expected: str
) -> None:
    run = run_of([kernel(type, 50, input_types=types, **CPU)], format=format)
    (found,) = ai_cpu.RULE.find(run)
    assert [expected in text for text in found.fix] == [True], found.fix


MEGATRON = replace(CAPTURE, distributed_args={"tensor_model_parallel_size": 1})
HEAD = kernel("MatMulV3", 90, input_shapes="4096,1024;151936,1024")
LAYERS = [kernel("MatMulV3", 10, input_shapes="4096,1024;4096,1024") for _ in range(4)]
LOGITS = [kernel("Cast", 30, input_shapes="4096,1,151936", name="aclnnCast_CastAiCore_Cast")] * 2
OTHER_CASTS = [kernel("Cast", 1, input_shapes="4096,1,1,128")] * 9
WIDE_NZ = kernel("TransData", 40, input_shapes="4096,151936", name="aclnnMatmul_TransData_TransData")


@pytest.mark.parametrize(
    ("rows", "capture", "expected"),
    [
        ([*LOGITS, *OTHER_CASTS, *LAYERS, HEAD], MEGATRON, ["2 × Cast (4096,1,151936) BF16 60.00 µs · aclnnCast: shapes of logits"]),
        ([*LOGITS, *OTHER_CASTS, *[HEAD] * 4], MEGATRON, ["2 × Cast (4096,1,151936) BF16 60.00 µs · aclnnCast: keep these"]),
        ([WIDE_NZ, HEAD], CAPTURE, ["1 × TransData (4096,151936) BF16 40.00 µs · aclnnMatmul: aclnnMatmul converts its inputs inside"]),
        ([kernel("TransData", 40, input_shapes="64,64")], CAPTURE, ["1 × TransData (64,64) BF16 40.00 µs: set `torch.npu"]),
    ],
)  # fmt: skip
def test_advice_about_conversions_follows_from_shapes(
    rows: list[Kernel], capture: Capture, expected: list[str]
) -> None:
    (found,) = format_conversions.RULE.find(run_of(rows, capture=capture))
    assert [text[: len(start)] for text, start in zip(found.fix, expected)] == expected, found.fix


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("32,1000;1000,4096", "pad these dimensions to multiples of 128: 32 → 128, 1000 → 1024."),
        ("1,1000;1000,4096", "pad these dimensions to multiples of 128: 1000 → 1024."),
        ("256,1024;1024,4096", "Give it more rows"),
        ("4096,1024;1024,4096", "large and aligned"),
    ],
)
def test_matrices_are_aligned_only_if_they_are_not(shapes: str, expected: str) -> None:
    (found,) = under_utilised.RULE.find(run_of([kernel("MatMulV3", 100, input_shapes=shapes, **BF16, **IDLE)]))
    assert [expected in text for text in found.fix] == [True], found.fix


def by_step(*shapes: str) -> list[Kernel]:
    """One kernel in each step, "|" between several."""
    rows = [(step, shape) for step, each in enumerate(shapes) for shape in each.split("|")]
    return [kernel("MatMulV3", 50, step, input_shapes=shape, op_state="dynamic") for step, shape in rows]


@pytest.mark.parametrize(
    ("rows", "expected", "is_known"),
    [
        (by_step("1,2", "1,3", "1,4"), ["MatMulV3"], True),
        (by_step("1,2|4,4", "4,4|1,2", "1,2|4,4"), [], True),
        (by_step("1,2|1,3|1,4", "1,2|1,3|1,4", "1,2|1,3|1,4"), [], True),
        (by_step("1,2", "1,3", "1,2"), [], True),
        (by_step("1,2", "1,3"), [], False),
        (by_step("1,2|1,3|1,4"), [], False),
    ],
)
def test_shapes_are_dynamic_if_they_change_from_step_to_step(
    rows: list[Kernel], expected: list[str], is_known: bool
) -> None:
    run = run_of(rows)
    found = dynamic_shapes.find(run)
    assert [one.subject.kernel for one in found] == expected
    assert all(one.costs == {} for one in found), "shapes cost nothing by themselves"
    assert (dynamic_shapes.missing(run) is None) == is_known


@pytest.mark.parametrize(
    ("types", "operator", "expected"),
    [
        (["ForeachAddList", "ForeachMulScalar"], "SGD", ["fix.optimizer SGD"]),
        (["ForeachAddList", "ApplyRotaryPosEmb"], "SGD", ["fix.optimizer SGD"]),  # no optimizer
        (["ForeachAddList", "ApplyAdamWV2"], "AdamW", []),
        (["ForeachAddList"], "NpuFusedSGD", []),
    ],
)
def test_optimizers(types: list[str], operator: str, expected: list[str]) -> None:
    operators = table_of("operators", [{"name": f"Optimizer.step#{operator}.step"}, {"name": "aten::add"}])
    found = optimizer.find(run_of([kernel(type, 20) for type in types], operators=operators))
    assert [f"{text.code} {text.params['optimizer']}" for one in found for text in one.fix] == expected


def records(*points: tuple[float, int, int]) -> Any:
    """(us, allocated MiB, reserved MiB)."""
    rows = [
        {"component": "PTA+GE", "time_ns": round(us * US), "allocated_bytes": low * MIB, "reserved_bytes": high * MIB}
        for us, low, high in points
    ]
    return table_of("memory_record", rows)


def steps(count: int) -> list[Kernel]:
    """A kernel of 100 us in each step."""
    return [kernel("Add", 100, step) for step in range(1, count + 1)]


@pytest.mark.parametrize(
    ("find", "count", "points", "expected"),
    [
        (memory_use.find_fragmentation, 1, [(0, 70, 100), (50, 80, 101)], ["21 %"]),
        (memory_use.find_fragmentation, 1, [(0, 10, 100), (50, 80, 100)], []),
        (memory_use.find_fragmentation, 1, [(50, 800, 1001)], ["20 %"]),
        (
            memory_use.find_leak,
            3,
            [(0, 50, 99), (10, 99, 99), (110, 51, 99), (120, 90, 99), (210, 52, 99)],
            ["1.00 MiB"],
        ),
        (memory_use.find_leak, 2, [(0, 50, 99), (10, 99, 99), (110, 60, 99)], []),
        (memory_use.find_leak, 3, [(0, 50, 999), (10, 900, 999), (110, 51, 999), (210, 52, 999)], []),
        (memory_use.find_leak, 3, [(0, 50, 99), (10, 99, 99), (110, 60, 99), (210, 60, 99)], []),
    ],
)
def test_memory(
    find: Callable[[RunData], list[Finding]], count: int, points: list[tuple[float, int, int]], expected: list[str]
) -> None:
    found = find(run_of(steps(count), memory_record=records(*points)))
    assert [one.message.params.get("size", one.message.params.get("share")) for one in found] == expected


@pytest.mark.parametrize(
    ("format", "setting", "expected"),
    [
        ("torch_npu", "", "Set `PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`."),
        ("torch_npu", "max_split_size_mb:64,expandable_segments:true", "`expandable_segments` is set already"),
        ("mindspore", "", "Set `MS_ALLOC_CONF=enable_vmm:true`"),
    ],
)
def test_advice_about_fragmentation_knows_framework_and_settings(format: str, setting: str, expected: str) -> None:
    capture = replace(CAPTURE, environment={"PYTORCH_NPU_ALLOC_CONF": setting})
    run = run_of(steps(1), capture=capture, format=format, memory_record=records((0, 70, 100), (50, 80, 101)))
    (found,) = memory_use.find_fragmentation(run)
    assert [text[: len(expected)] for text in found.fix] == [expected]


def test_holders_of_the_peak() -> None:
    held = [("a", 30, 0, 90), ("b", 10, 0, 40), ("a", 5, 50, None), ("c", 20, 60, 70)]
    rows = [
        {"name": name, "size_bytes": size * MIB, "alloc_ns": start, "release_ns": end}
        for name, size, start, end in held
    ]
    tables = {"memory_record": records((0.055, 50, 60), (0.08, 40, 60)), "op_memory": table_of("op_memory", rows)}
    (found,) = memory_use.find_peak_holders(run_of(steps(1), **tables))
    assert (found.message.params["operators"], found.message.params["share"]) == ("a 35.00 MiB", "70 %")


@pytest.mark.parametrize(
    ("times", "capture", "expected"),
    [
        ([10], Capture(level="Level1"), ["steps"]),
        ([16, 10, 10], Capture(level="Level1"), ["warm_up"]),
        ([15, 10, 10], Capture(level="Level1"), ["warm_up"]),
        ([14, 10, 10], Capture(level="Level1"), []),
        ([10, 0, 0], Capture(level="Level1"), []),
        ([10, 10], Capture(level="Level0"), ["level"]),
        ([10, 10], Capture(level="Level2", switches={"with_stack": True}), []),
    ],
)
def test_quality_of_the_capture(times: list[int], capture: Capture, expected: list[str]) -> None:
    run = run_of(steps(len(times)), capture=capture)
    vars(run)["step_times"] = [(str(number), time * MS) for number, time in enumerate(times)]
    assert [one.message.code.rpartition(".")[2] for one in capture_quality.find(run)] == expected


GPT2 = Recipe("gpt2", ranks=2, steps=3, sizes=Sizes(layers=4), seed=3)
#: Simulated ResNets convert formats for each convolution, as recorded ones do: that is a finding.
CONVERTS = {"format_conversions"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "costly"),
    [
        (GPT2, set()),
        (replace(GPT2, chip="910B4", seed=1), set()),
        (replace(GPT2, chip="910A"), set()),
        (Recipe("resnet50", steps=3, sizes=Sizes(layers=26, batch=64)), CONVERTS),
    ],
)
def test_healthy_runs_have_no_costly_finding(recipe: Recipe, costly: set[str]) -> None:
    found = {}
    for export in ("text", "db"):
        run = diagnose(found_spans(written(replace(recipe, options=Options(export=(export,))))[0]))
        assert {one.rule for one in run.findings if severity_of(one, run.step_ns) != "low"} == costly
        found[export] = [(one.rule, one.message, one.cost_ns) for one in run.findings]
    assert found["text"] == found["db"]


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("ai-cpu", "ai_cpu"),
        ("dynamic-shapes", "dynamic_shapes"),
        ("fragmentation", "fragmentation"),
        ("memory-leak:200", "leak"),
    ],
)
def test_faults_are_found(fault: str, rule: str) -> None:
    folder, _ = written(replace(GPT2, ranks=1, steps=4, faults=(fault,)))
    assert rule in {one.rule for one in diagnose(found_spans(folder)).findings}


@pytest.mark.parametrize(("types", "expected"), [("abc", "1 × c 1.00 ms"), ("abcd", "1 × c 1.00 ms, …")])
def test_three_types_are_listed_and_more_are_hinted_at(types: str, expected: str) -> None:
    (rank,) = run_of([kernel("Cast", 1)]).kernels
    costs = Costs(rank, dict.fromkeys(types, MS), dict.fromkeys(types, 1.0), 1)
    assert costs.listed() == f"1 × a 1.00 ms, 1 × b 1.00 ms, {expected}"


def test_recorded_runs_convert_formats_and_do_not_fuse_their_optimizer() -> None:
    run = RunData(found_spans(recording("ascend_pt_text_level1")))
    (conversions,), (fused,) = format_conversions.RULE.find(run), optimizer.find(run)
    assert "57 × TransData 1.42 ms" in conversions.message and conversions.confidence.ranks == 2
    assert [str(text) for text in fused.fix] == ["Use `torch_npu.optim.NpuFusedSGD`."]
    assert dynamic_shapes.missing(run) is not None, "every kernel is of OP State dynamic, but one step cannot tell"


@pytest.mark.parametrize(
    ("types", "expected"), [(("MatMul", None), ["MatMul", None]), ((None, None), ["mm_1", "mm_2"])]
)
def test_costs_are_by_name_where_no_type_is_known(types: tuple[str | None, ...], expected: list[str | None]) -> None:
    kernels = table_of("kernels", [{"name": f"mm_{at}", "type": one} for at, one in enumerate(types, 1)])
    assert labels(kernels).tolist() == expected
