"""Iterations of serving engines in traces of GPUs: names of marks, kernels by launch, windows, nested and hostile marks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tb_npu_plugin.schema.serving import mark_of
from tb_npu_plugin.tables import Table
from tests.unit.readers.test_kineto import Event, kernel, launch, mark, slice_, sound

#: Names of marks -> engine, phase, requests, tokens.
FORMS = {
    "execute_new_1_cached_2": ("vLLM", "mixed", 3, None),
    "execute_new_0_cached_8": ("vLLM", "decode", 8, None),
    "execute_context_2(96)_generation_0(0)": ("vLLM", "prefill", 2, 96),
    "execute_context_1(888_788544)_generation_3(3_3)": ("vLLM", "mixed", 4, 891),
    "execute_context_0(0)_generation_8(48)": ("vLLM", "decode", 8, 48),
    "execute_context_0(0)_generation_0(0)": ("vLLM", None, 0, 0),
    "execute_40_context_1(sq8sk8sqsq64sqsk64)_generation_32(sq32sk900sqsq32sqsk900)": ("vLLM", "mixed", 33, 40),
    "step[EXTEND bs=2 toks=128]": ("SGLang", "prefill", 2, 128),
    "step[DECODE bs=32 c_sq=7]": ("SGLang", "decode", 32, None),
    "step[MIXED bs=3 toks=9]": ("SGLang", "mixed", 3, 9),
    "step[TARGET_VERIFY bs=4]": ("SGLang", "verify", 4, None),
    "step[DRAFT_LOOP raw_bs=3 bs=4]": ("SGLang", "draft", 3, None),
    "decode[bs=117/128 d=1]": ("ATOM", "decode", 117, None),
    "prefill[bs=1 tok=30]": ("ATOM", "prefill", 1, 30),
    "prepare input": ("vllm-ascend", None, None, None),
    "forward": ("vllm-ascend", None, None, None),
    "Prefill_layer::Execute": ("MindIE", "prefill", None, None),
    "Decoder_layer::Execute": ("MindIE", "decode", None, None),
    "LmHead::Execute": ("MindIE", None, None, None),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_of_a_mark_is_read(name: str) -> None:
    found = mark_of(name)
    assert found is not None
    assert (found.engine.name, found.phase, found.requests, found.tokens) == FORMS[name]


@pytest.mark.parametrize("name", ["execute", "forward_backward", "step[", "ProfilerStep#3", "step 3", "context_1"])
def test_other_ranges_are_no_marks(name: str) -> None:
    assert mark_of(name) is None


def annotation(name: str, ts: float, dur: float, tid: int = 9) -> Event:
    return slice_("user_annotation", name, ts, dur, tid)


def replay(number: int, ts: float, dur: float = 4) -> Event:
    return slice_("cuda_runtime", "cudaGraphLaunch", ts, dur, 9, correlation=number)


def rows(table: Table, *keys: str) -> list[tuple[object, ...]]:
    texts = ("step", "engine", "phase")
    return list(zip(*(table.text(key).tolist() if key in texts else table.ints(key).tolist() for key in keys)))


def test_kernels_belong_to_the_mark_that_launched_them_and_windows_end_with_them(tmp_path: Path) -> None:
    """Both iterations run long after their marks. Between them the device idles: no requests, not a loss."""
    tables = sound(
        tmp_path,
        annotation("step[EXTEND bs=1 toks=64]", 0, 20),
        launch(1, 5),
        annotation("step[DECODE bs=1]", 30, 20),
        replay(2, 40),
        slice_("gpu_user_annotation", "step[DECODE bs=1]", 500, 400, 7, 0),
        kernel(1, 100, 30),
        kernel(2, 600, 10),
        kernel(2, 620, 20),
        kernel(99, 45, 3),  # its call was not recorded
    )
    assert rows(tables["engine_iterations"], "step", "engine", "phase", "requests", "kernels", "graph_kernels") == [
        ("1", "SGLang", "prefill", 1, 1, 0),
        ("2", "SGLang", "decode", 1, 2, 2),
    ]
    assert rows(tables["step_trace"], "step", "stage", "computing", "free") == [
        ("1", 30_000, 30_000, 0),
        ("2", 40_000, 30_000, 10_000),
    ]
    assert tables["kernels"].text("step").tolist() == [None, "1", "2", "2"]


@pytest.mark.parametrize(("early", "start"), [(1, 302_000), (2, 101_000)])
def test_of_nested_marks_the_innermost_that_launches_nearly_all_counts(tmp_path: Path, early: int, start: int) -> None:
    """The outer mark launches early copies: 1 or 2 of 20 tasks. What the inner mark does not tell, the outer one does."""
    tables = sound(
        tmp_path,
        annotation("execute_32_context_0(sq0sk0)_generation_32(sq32sk99)", 0, 90),
        annotation("step[DECODE bs=32]", 40, 40),
        *(launch(number, number if number <= early else number + 41) for number in range(1, 21)),
        *(kernel(number, (100 if number <= early else 300) + number, 1) for number in range(1, 21)),
    )
    assert rows(tables["engine_iterations"], "phase", "requests", "tokens") == [("decode", 32, 32)]
    assert tables["step_trace"].ints("start_ns").tolist() == [start]


def test_marks_that_launch_nothing_or_overlap_on_two_threads_cost_themselves(tmp_path: Path) -> None:
    tables = sound(
        tmp_path,
        annotation("step[DECODE bs=1000000000]", 0, 50, 1),
        annotation("step[DECODE bs=2]", 10, 60, 2),
        annotation(f"step[DECODE bs={'9' * 5000}]", 100, 50, 1),
        annotation("step[DECODE bs=4]", 200, 50, 1),
        launch(1, 20, 1),
        launch(2, 20, 2),
        launch(3, 120, 1),
        kernel(1, 500, 10),
        kernel(2, 505, 10),
        kernel(3, 600, 10),
    )
    unknown = -(2**63)
    assert rows(tables["engine_iterations"], "step", "requests", "kernels") == [
        ("1", 10**9, 1),
        ("2", 2, 1),
        ("3", unknown, 1),
    ]
    assert rows(tables["step_trace"], "step", "stage", "free") == [("1", 10_000, 0), ("2", 10_000, 0), ("3", 10_000, 0)]


def test_marks_nested_1000_deep_are_one_iteration(tmp_path: Path) -> None:
    marks = [annotation(f"step[DECODE bs={depth}]", depth, 4000 - 2 * depth) for depth in range(1000)]
    tables = sound(tmp_path, *marks, launch(1, 1500), kernel(1, 9000, 10))
    assert rows(tables["engine_iterations"], "step", "requests") == [("1", 999)]


def test_several_marks_of_an_iteration_are_one_range(tmp_path: Path) -> None:
    """What comes before the first one is no iteration: others name ranges so, too."""
    names = ["forward", "prepare input", "forward", "post process", "prepare input", "forward"]
    tables = sound(
        tmp_path,
        *(annotation(name, 10 * at, 8) for at, name in enumerate(names)),
        *(launch(at + 1, 10 * at + 1) for at in range(len(names))),
        *(kernel(at + 1, 100 + at, 1) for at in range(len(names))),
    )
    assert tables["kernels"].text("step").tolist() == [None, "1", "1", "1", "2", "2"]
    layers = ["Prefill_layer::Execute", "Prefill_layer::Execute", "LmHead::Execute", "Decoder_layer::Execute"]
    assert [name in mark_of(name).engine.last for name in layers] == [False, False, True, False]  # type: ignore[union-attr]


@pytest.mark.parametrize("prefix", ["gpu_model_runner: ", ""])
def test_scopes_of_vllm_are_iterations_and_add_to_those_that_it_marks_whole(tmp_path: Path, prefix: str) -> None:
    """Sampling follows the mark of the iteration, which alone tells phase and batch."""
    scopes = [f"{prefix}{name if prefix else name.capitalize()}" for name in ("preprocess", "forward", "sample")]
    folders = [tmp_path / name for name in ("scopes", "whole")]
    for folder in folders:
        folder.mkdir()
    launches = [launch(at + 1, 10 * at + 1) for at in range(6)]
    kernels = [kernel(at + 1, 100 + at, 1) for at in range(6)]
    ranges = [annotation(name, 10 * at, 8) for at, name in enumerate([*scopes[1:], "", *scopes])]
    tables = sound(folders[0], *ranges, *launches, *kernels)
    assert tables["kernels"].text("step").tolist() == [None, None, None, "1", "1", "1"]
    assert rows(tables["engine_iterations"], "engine", "phase", "requests") == [("vLLM", None, -(2**63))]
    whole = [annotation(f"execute_context_0(0)_generation_{at}({at})", 30 * at, 19) for at in range(2)]
    ranges = [annotation(name, 10 * at, 8) for at, name in enumerate(scopes * 2)]
    tables = sound(folders[1], *whole, *ranges, *launches, *kernels)
    assert tables["kernels"].text("step").tolist() == ["1", "1", "1", "2", "2", "2"]
    assert rows(tables["engine_iterations"], "phase", "requests") == [(None, 0), ("decode", 1)]


@pytest.mark.parametrize(("eager", "steps"), [(1, ["1", "2"]), (2, [])])
def test_without_marks_calls_that_replay_a_graph_are_iterations(tmp_path: Path, eager: int, steps: list[str]) -> None:
    """If they launch nearly all kernels: else a model is split into many graphs."""
    tables = sound(
        tmp_path,
        replay(1, 10),
        replay(2, 20, dur=0),
        *(launch(number, 30 + 2 * number) for number in range(3, 3 + eager)),
        *(kernel(1 + at % 2, 100 * (1 + at % 2) + at, 1) for at in range(20)),
        *(kernel(number, 400 + number, 1) for number in range(3, 3 + eager)),
    )
    found = tables.get("engine_iterations")
    assert ([] if found is None else found.text("step").tolist()) == steps


@pytest.mark.parametrize(
    ("name", "end", "step"),
    [
        ("step[DECODE bs=1]", 50, "1"),  # vLLM and others step a profiler with a schedule before each iteration
        ("step[DECODE bs=1]", 10, "7"),  # it launches a third of the tasks
        ("Preprocess", 50, "7"),  # scripts use such names, too
    ],
)
def test_marks_of_steps_count_unless_an_engine_marks_most_tasks(tmp_path: Path, name: str, end: int, step: str) -> None:
    launches = [launch(at + 1, at * 10 + 5) for at in range(3)]
    kernels = [kernel(at + 1, 90 + at, 1) for at in range(3)]
    tables = sound(tmp_path, mark("7", 0, 50), annotation(name, 0, end), *launches, *kernels)
    assert tables["kernels"].text("step").tolist() == [step] * 3
    assert ("engine_iterations" in tables) == (step == "1")


def test_a_long_name_takes_linear_time() -> None:
    """A look at each end of the word took minutes for this name."""
    start = time.process_time()
    assert mark_of("step[" + "A" * 100_000) is None
    assert time.process_time() - start < 1
