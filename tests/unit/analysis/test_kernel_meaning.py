"""What kernels mean: the order of the lookup, names that mislead, folding, a user's own table, coverage."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_npu_plugin.analysis.comparison import diff
from tb_npu_plugin.analysis.kernels import meaning as kernels_meaning
from tb_npu_plugin.analysis.kernels.kinds import is_communication, is_computing
from tb_npu_plugin.analysis.kernels.meaning import coverage
from tb_npu_plugin.analysis.kernels.same_kernels import SameKernels, same_kernels
from tb_npu_plugin.analysis.kernels.statistics import by_core, by_name, kinds_of
from tb_npu_plugin.schema import kernel_meaning
from tb_npu_plugin.schema.communicators import group_hash
from tb_npu_plugin.schema.kernel_meaning import USER_TABLE, folded_name, meaning_of_kernel, use_user_table, user_table
from tb_npu_plugin.schema.trace_events import NOTIFY_WAIT, WAIT_TASK, WAITS
from tb_npu_plugin.tables import Table
from tests.support.cli import run
from tests.support.span import table_of
from tests.unit.store.results import NAME, write_result

HASH = "0123456789abcdef" * 2


def meaning(name: str, kernel_type: str | None = None, is_gpu: bool = False) -> str | None:
    found = meaning_of_kernel(name, kernel_type, is_gpu)
    return found and found.meaning


def folded(name: str, kernel_type: str | None = None, is_gpu: bool = False) -> str:
    found = meaning_of_kernel(name, kernel_type, is_gpu)
    return folded_name(name, found.fold if found else "")


@pytest.mark.parametrize(
    ("name", "kernel_type", "expected"),
    [
        ("allreduceAicpuKernel_360", "MatMulV2", "ai_cpu_unfolded_collective"),  # the name's end beats the type
        ("aclnnA_B_Cast", "MatMulV2", "matmul"),  # the type beats the stem
        ("Conv2D7", "TransData", "cast_format"),  # names with numbers of graphs say less than the type
        ("aclnnA_B_Cast", None, "cast_format"),
        ("aclnnA_B_Cast", "N/A", "cast_format"),
        ("trans_TransData_3", None, "cast_format"),
        ("Conv2D12", None, "conv_forward"),
        (f"Cast_{HASH}_high_performance_4", None, "cast_format"),
        ("aclnnMm_MatMulCommon_MemSet", None, "copy_memory"),
        ("Conv2DBackpropFilter1_MemSet", None, "copy_memory"),
        ("Conv2DBackpropFilter1", None, "conv_backward"),
        ("aclnnInplaceNormal_DSARandomNormal_DSARandomNormal", "DSARandomNormal", "random_dropout"),
        ("main_kernel", None, None),
        ("OurOwn", "OurOwn", None),
    ],
)
def test_name_then_type_then_stem(name: str, kernel_type: str | None, expected: str | None) -> None:
    assert meaning(name, kernel_type) == expected


def test_a_lambda_is_no_optimizer() -> None:
    assert meaning("void at::native::f<at::native::g(int)::{lambda(float)#1}>(int)", is_gpu=True) == "other"
    assert meaning("void apex::lamb_stage_1<float>(int)", is_gpu=True) == "optimizer"


@pytest.mark.parametrize(
    ("name", "is_gpu", "expected"),
    [
        ("hcom_allReduce__509_15_1", False, "hcom_allReduce"),
        ("allreduceAicpuKernel_360", False, "allreduceAicpuKernel"),
        ("trans_TransData_7", False, "trans_TransData"),
        ("Conv2DBackpropFilter12_MemSet", False, "Conv2DBackpropFilter_MemSet"),
        (f"MatMulV2_{HASH}_3_mix_aic", False, "MatMulV2"),
        ("aclnnMatmul_MatMulV3Common_MatMulV3", False, "aclnnMatmul_MatMulV3Common_MatMulV3"),
        ("void at::f_elementwise<4, at::Add<float>, at::Array<char*, 3ul> >(int, int)", True, "at::f_elementwise<at::Add<float>, at::Array<char*, 3ul> >"),
        ("void at::(anonymous namespace)::reduce_kernel<512, 1, at::Op{lambda(int)#1}>(at::Op)", True, "at::reduce_kernel<at::Op{lambda(int)#1}>"),
        ("triton_poi_fused_add_12", True, "triton_poi_fused_add"),
        ("Cijk_Ailk_BH_MT64x32x16_SE", True, "Cijk_Ailk_BH"),
    ],
)  # fmt: skip
def test_names_of_one_kernel_fold(name: str, is_gpu: bool, expected: str) -> None:
    assert folded(name, is_gpu=is_gpu) == expected


def test_every_row_of_our_table_is_sound() -> None:
    with (Path(kernel_meaning.__file__).parent / "kernel_meaning.csv").open(encoding="utf-8", newline="") as file:
        rows = list(kernel_meaning._rows_of(csv.DictReader(file)))
    assert [row for row in rows if isinstance(row, str)] == []
    for row in rows:
        re.compile(row.pattern)  # type: ignore[union-attr]


def kernels(*rows: tuple[str, str, str, int]):  # type: ignore[no-untyped-def]
    keys = ("name", "type", "core", "dur_ns")
    return table_of("kernels", [dict(zip(keys, row), start_ns=100 * at) for at, row in enumerate(rows)])


MATMUL = ("aclnnMm_X_MatMulV2", "MatMulV2", "AI_CORE", 50)
UNFOLDED = ("allreduceAicpuKernel_1", "allreduceAicpuKernel", "AI_CPU", 30)
OPERATOR = ("hcom_allReduce__123_0_1", "hcom_allReduce_", "HCCL", 30)


def test_the_device_side_of_a_collective_is_not_added_to_it() -> None:
    table = kernels(MATMUL, UNFOLDED, OPERATOR, ("AivKernel_hcom_x_2", "AivKernel", "AI_VECTOR_CORE", 20))
    assert is_computing(table).tolist() == [True, False, False, False]
    assert is_communication(table).tolist() == [False, False, True, False]
    assert [(one.core, one.total_ns, one.communication) for one in by_core(kinds_of(table))] == [
        ("AI_CORE", 50, False),
        ("HCCL", 30, True),
    ]
    # In a range that holds the device side alone, it is still the same work.
    assert not is_communication(table.take(table.text("name").equals(UNFOLDED[0]))).any()


def test_without_operators_it_is_the_collective() -> None:
    table = kernels(MATMUL, UNFOLDED)
    assert is_computing(table).tolist() == [True, False]
    assert is_communication(table).tolist() == [False, True]


def test_calls_of_a_collective_are_a_row_for_each_group() -> None:
    calls = [
        (f"hcom_allReduce__{group}_{number}_1", "hcom_allReduce_", "HCCL", 10)
        for group in (12, 345)
        for number in (0, 1)
    ]
    formats = [(f"trans_TransData_{number}", "TransData", "AI_CORE", 5 + number) for number in (0, 1)]
    rows = by_name(kinds_of(kernels(*calls, *formats)))
    columns = [rows.text(key).tolist() for key in ("name", "group", "meaning")]
    assert list(zip(*columns, rows.ints("calls").tolist(), rows.ints("total_ns").tolist())) == [
        ("hcom_allReduce", "12", "collective", 2, 20),
        ("hcom_allReduce", "345", "collective", 2, 20),
        ("trans_TransData", None, "cast_format", 2, 11),
    ]


@pytest.fixture
def own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "own.csv"
    monkeypatch.setenv(USER_TABLE, "")  # restored in the end
    use_user_table(str(path))
    yield path
    use_user_table("")


def test_a_users_table_goes_first_and_a_bad_row_costs_itself(own_table: Path) -> None:
    own_table.write_text(
        "where,match,pattern,meaning,waits_inside,fold\n"
        "kernel_name,exact,main_kernel_3,attention,no,none\n"
        "kernel_name,regex,((,matmul,no,none\n"
        "nowhere,exact,X,matmul,no,none\n"
        "kernel_type,exact,MatMulV2,gemm_of_ours,no,none\n"
        f"kernel_name,regex,{'(' * 5000},matmul,no,none\n"
        "kernel_name,regex,a{99999999999999},matmul,no,none\n"
    )
    assert [meaning("main_kernel_3"), meaning("main_kernel_4"), meaning("x", "MatMulV2")] == [
        "attention",
        None,
        "gemm_of_ours",
    ]
    assert meaning("x", "MatMulV3") == "matmul"
    assert [(one.file, one.where) for one in user_table()[1]] == [("own.csv", line) for line in "3467"]


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|aa)*$",
        "a?" * 30 + "a" * 30,
        "(ab|ac?)" * 9,
        "a.*b.*c",
        "^.*.*.*b",
        "^a|.*b.*",
        r"(\w+)\1",
        "(a{1,9}){9}",
    ],
)
def test_an_expression_that_may_take_for_ever_is_refused(own_table: Path, pattern: str) -> None:
    own_table.write_text(f"where,match,pattern,meaning\nkernel_name,regex,{pattern},attention\n")
    assert user_table()[0] == [] and [one.where for one in user_table()[1]] == ["2"]
    assert meaning("a" * 3000) is None


@pytest.mark.parametrize("pattern", ["^te_.*_of_.*", r"flash_\w+", r"(?i)^mine_(fwd|bwd)?(_\d{1,9})?$", "(x|y)a{3}"])
def test_common_expressions_are_taken(own_table: Path, pattern: str) -> None:
    own_table.write_text(f'where,match,pattern,meaning\nkernel_name,regex,"{pattern}",attention\n')
    assert len(user_table()[0]) == 1 and user_table()[1] == []


@pytest.mark.parametrize("unit", ["_", "_0", "__0_0", "hcom_", "f0", "(anonymous namespace)::", "<1, ", "x1x"])
def test_a_name_of_any_length_is_cheap(unit: str) -> None:
    begin = time.process_time()
    for ending in ("", "!", "!0"):
        name = (unit * 100_000)[:100_000] + ending
        meaning(name)
        meaning(name, is_gpu=True)
        for fold in ("hcom", "dtype_suffix", "graph_index", "library", "triton"):
            folded_name(name, fold)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(("content", "where"), [(b"\xff\xfe\x00", ""), (b"", "1"), (b"a,b\n" + b"1,2\n" * 9, "1")])
def test_a_users_table_that_cannot_be_read_is_told(own_table: Path, content: bytes, where: str) -> None:
    own_table.write_bytes(content)
    assert [(one.code, one.where, one.lost.code) for one in user_table()[1]] == [
        ("kernel_table", where, "lost.whole_kernel_table")
    ]
    assert meaning("x", "MatMulV2") == "matmul"


def test_coverage_is_a_share_of_the_time() -> None:
    found = coverage(kernels(MATMUL, ("main_kernel", "main_kernel", "AI_CORE", 150)))
    assert (found.share, found.unknown) == (0.25, [("main_kernel", 150)])
    sums = table_of("op_statistic", [{"type": "Cast", "total_ns": 3}, {"type": "Ours", "total_ns": 1}])
    assert (coverage(sums).share, coverage(sums).unknown) == (0.75, [("Ours", 1)])


def test_diff_pairs_collectives_by_operation_and_group_and_their_calls_by_order() -> None:
    """Ids of groups and numbers of calls differ in each run."""

    def side(group: str, other: str, first: int, dur: int) -> diff.Side:
        ends = {"tp": group_hash(group)[-3:], "dp": group_hash(other)[-3:]}
        calls = [("tp", dur), ("dp", 50), ("tp", dur + 2)]
        rows = [
            (f"hcom_allReduce__{ends[role]}_{first + at}_1", "hcom_allReduce_", "HCCL", ns)
            for at, (role, ns) in enumerate(calls)
        ]
        return diff.Side(kernels(*rows, MATMUL), {group: {"group_name": "tp"}, other: {"group_name": "dp"}})

    sides = side("a%1", "a%2", 0, 10), side("b%1", "b%2", 7, 20)
    found = diff.kernels(sides)
    columns = ("name", "group", "class"), ("baseline_ns", "experimental_ns")
    rows = zip(*(found.text(key).tolist() for key in columns[0]), *(found.ints(key).tolist() for key in columns[1]))
    assert list(rows) == [
        ("hcom_allReduce", "tp", "communication", 22, 42),
        ("hcom_allReduce", "dp", "communication", 50, 50),
        (MATMUL[0], None, "matmul", 50, 50),
    ]
    calls = diff.calls(sides)
    assert calls is not None
    times = zip(calls.text("group").tolist(), *(calls.ints(key).tolist() for key in ("number", *columns[1])))
    assert list(times) == [("tp", 1, 10, 20), ("dp", 1, 50, 50), ("tp", 2, 12, 22)]


def test_groups_without_a_role_are_paired_by_their_ranks_and_their_order() -> None:
    def labels(groups: dict[str, list[int]], *order: str) -> list[str | None]:
        rows = [(f"hcom_allReduce__{group_hash(one)[-3:]}_0_1", "hcom_allReduce_", "HCCL", 10) for one in order]
        found = diff.kernels(
            [diff.Side(kernels(*rows), {key: {"global_ranks": ranks} for key, ranks in groups.items()})] * 2
        )
        return found.text("group").tolist()

    assert labels({"a": [0, 1], "b": [0, 4], "c": [0, 1, 2, 3]}, "c", "b", "a") == ["×4", "×2", "×2 #2"]
    assert labels({}, "a", "b") == ["#1", "#2"]


@pytest.mark.slow
def test_a_command_takes_a_users_table_and_tells_its_bad_rows(own_table: Path, tmp_path: Path) -> None:
    header = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
    rows = "1,main_kernel,main_kernel,AI_CORE,100,30\n1,aclnnCast_X_Cast,Cast,AI_CORE,130,10\n"
    write_result(tmp_path / "logs" / NAME, trace=None, files={"kernel_details.csv": header + rows})
    own_table.write_text("where,match,pattern,meaning\nkernel_name,exact,main_kernel,attention\nkernel_name,,x,y\n")
    before = run("doctor", tmp_path / "logs")
    assert "others: main_kernel 0.030 ms" not in before.stdout  # the environment variable holds
    use_user_table("")
    assert (
        "25.0 % of device time in kernels known by name; others: main_kernel 0.030 ms"
        in run("doctor", tmp_path / "logs").stdout
    )
    after = run("doctor", tmp_path / "logs", "--kernel-table", own_table)
    assert "100.0 % of device time in kernels known by name" in after.stdout
    assert "own.csv, line 3" in after.stderr


def test_kernels_that_wait_inside_are_not_compared_between_ranks() -> None:
    """A rank that waits in them is not slow."""

    def rank(waits: int) -> Table:
        rows = [("MoeDistributeDispatchV2", waits), ("MatMulV2", 100)]
        return table_of(
            "kernels",
            [
                {"name": one, "type": one, "core": "AI_CORE", "step": "1", "input_shapes": "8,8", "dur_ns": ns}
                for one, ns in rows
            ],
        )

    assert same_kernels([rank(10), rank(900)]) == [{"1": SameKernels(100, 100)}] * 2


def test_calls_of_a_kernel_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    real = kernels_meaning.meaning_of_kernel
    monkeypatch.setattr(
        kernels_meaning, "meaning_of_kernel", lambda *args, **options: asked.append(args) or real(*args, **options)
    )
    names = [f"{stem}_{call}_1" for call in range(500) for stem in ("hcom_allReduce__509", "trans_TransData", "Add")]
    found = table_of("kernels", [{"name": name, "type": "N/A"} for name in names])
    assert {"hcom_allReduce", "trans_TransData"} < set(found.text("folded").tolist())
    assert set(found.text("group").tolist()) == {"509", None} and len(asked) == 3


def test_tasks_that_wait_in_pictures_are_those_of_the_table() -> None:
    """The timeline may not ask the table: its stored levels would depend on the user's."""
    names = {row.pattern for row in kernel_meaning._own_table() if row.where == "task_type" and row.match == "exact"}
    waits = {name for name in (*names, "NOTIFY_WAIT", NOTIFY_WAIT, WAIT_TASK, "EVENT_WAIT") if WAITS.match(name)}
    assert waits >= {name for name in names if "WAIT" in name.upper()}
    assert all(kernel_meaning.meaning_of(name, "task_type")[:2] == ("sync_event", True) for name in waits)
    assert not {name for name in ("EVENT_RECORD", "Notify_Record", "aten::wait_tensor", "MatMul") if WAITS.match(name)}
