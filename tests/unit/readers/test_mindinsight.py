"""Legacy MindSpore files become logical tables in ns and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.registry import finish, read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table, known


def read(folder: Path, name: str, content: str, **before: Table) -> tuple[dict[str, Table], list[Problem]]:
    (folder / name).write_text(content)
    log = ProblemLog()
    tables = read_file(Reading(folder / name, name, log, before=before))
    return finish(tables, Capture(), log), log.list()


def codes(problems: list[Problem]) -> list[str]:
    return [problem.code for problem in problems]


HEADER = "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail"


def test_counts_are_10_ns(tmp_path: Path) -> None:
    text = f"{HEADER}\n1,100,400,300,100,300,0,200,100\n2,400,900,500,450,800,50,350,100\n-,1,2,3,4,5,6,7,8\n"
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    table = tables["iterations"]
    assert problems == []
    assert table.text("step").tolist() == ["1", "2", None]
    assert table.ints("average").tolist() == [0, 0, 1]
    assert table.ints("interval_ns").tolist() == [0, 500, 60]
    assert table.ints("fp_bp_ns").tolist() == [2000, 3500, 70]
    assert table.ints("tail_ns").tolist() == [1000, 1000, 80]
    assert table.ints("total_ns").tolist() == [3000, 5000, 30]


def test_figures_that_disagree_with_their_points_are_computed_and_told(tmp_path: Path) -> None:
    text = f"{HEADER}\n1,100,400,300,100,300,0,200,99\n"
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    assert tables["iterations"].ints("tail_ns").tolist() == [1000]
    assert codes(problems) == ["inconsistent"]


def test_points_outside_of_their_step_are_unknown(tmp_path: Path) -> None:
    """A gap of -50 and one of 50 made a mean of 0."""
    text = f"{HEADER}\n1,100,400,300,100,300,0,200,100\n2,400,700,300,350,800,-50,450,-100\n3,700,999,299,750,740,50,-10,259\n"
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    table = tables["iterations"]
    assert table.ints("total_ns").tolist() == [3000, 3000, 2990]
    assert table.ints("interval_ns").tolist() == [0, NULL_INT, 500]
    assert table.ints("fp_bp_ns").tolist() == [2000, NULL_INT, NULL_INT]
    assert table.ints("tail_ns").tolist() == [1000, NULL_INT, 2590]
    assert {(problem.code, problem.where) for problem in problems} == {
        ("bad_cell", "line 3, fp_point"),
        ("bad_cell", "line 3, bp_point, line 4, bp_point"),
    }


@pytest.mark.parametrize("step", ["x", "", "1.5", "--", "nan"])
def test_a_step_that_is_no_number_costs_its_row(step: str, tmp_path: Path) -> None:
    """Nor is it the average, whose mark is documented."""
    header = f"{HEADER},stream_1_AllReduce,stream_1_AllReduce_start_point,stream_1_AllReduce_end_point"
    rows = [
        f"{number},{100 + at},{400 + at},300,100,300,0,200,100,50,200,250\n" for number, at in (("1", 0), (step, 9))
    ]
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", f"{header}\n{''.join(rows)}")
    assert tables["iterations"].text("step").tolist() == ["1"] == tables["iteration_reduces"].text("step").tolist()
    assert tables["iterations"].ints("average").tolist() == [0]
    assert [(problem.code, problem.where) for problem in problems] == [("bad_required_cell", "line 3")]


@pytest.mark.parametrize("suffixes", [("", "_start_point", "_end_point"), ("_start_point", "_end_point", "")])
def test_reduces_stand_in_either_order(tmp_path: Path, suffixes: tuple[str, ...]) -> None:
    values = {"": "50", "_start_point": "200", "_end_point": "250"}
    header = ",".join(f"stream_11_0_AllReduce-op7{suffix}" for suffix in suffixes)
    row = ",".join(values[suffix] for suffix in suffixes)
    text = f"{HEADER},{header}\n1,100,400,300,100,300,0,200,100,{row}\n"
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    found = tables["iteration_reduces"]
    assert problems == []
    assert found.text("name").tolist() == ["0_AllReduce-op7"]
    assert (found.ints("stream_id")[0], found.ints("start_ns")[0], found.ints("dur_ns")[0]) == (11, 2000, 500)


HCCL = "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n"


def hccl(cost: str, wait: str, links: str, ops: str) -> str:
    return HCCL + ",".join(["1", cost, wait, *('"' + cell.replace('"', '""') + '"' for cell in (links, ops))]) + "\n"


def test_bandwidth_is_recomputed_from_bytes_and_times(tmp_path: Path) -> None:
    links = '{"0-1": {"SDMA": [3.0, 6000.0, 999]}, "1-1": {"SDMA": [1.0, 100.0, 9]}}'
    ops = (
        '{"stream_3_0_AllReduce-op1": ["1", 1.5, 0.25, {"0-1": {"SDMA": [1.0, 4000.0, 9]}, "1-1": {"SDMA": [0.5, 50, 9]}}],'
        ' "stream_3_1_AllReduce-op2": ["1", 2.5, 0.25, {"0-1": {"SDMA": [2.0, 2000.0, 9]}, "1-1": {"SDMA": [0.5, 50, 9]}}],'
        ' "stream_4_0_Receive-op3": ["1", 0, 2.0, {}]}'
    )
    tables, problems = read(tmp_path, "hccl_raw_1.csv", hccl("4.0", "2.5", links, ops))
    assert problems == []
    found = tables["comm_links"]
    assert found.text("transport").tolist() == ["SDMA", "LOCAL"]
    assert found.ints("size_bytes").tolist() == [6_000_000, 100_000]
    assert found.ints("time_ns").tolist() == [3_000_000, 1_000_000]
    assert found.floats("bandwidth").tolist() == [2.0, 0.1]
    operators = tables["comm_ops"]
    assert operators.text("name").tolist() == ["AllReduce-op1", "AllReduce-op2", "Receive-op3"]
    assert operators.text("kind").tolist() == ["collective", "collective", "p2p"]
    assert operators.ints("wait_ns").tolist() == [250_000, 250_000, 2_000_000]
    assert not known(operators.ints("elapse_ns")).any() and not known(operators.ints("idle_ns")).any()  # not recorded


def test_costs_of_later_files_are_us(tmp_path: Path) -> None:
    links = '{"0-1": {"SDMA": [1.0, 4000.0, 4]}}'
    ops = '{"stream_3_0_AllReduce-op1": ["1", 1000.0, 250.0, {"0-1": {"SDMA": [1.0, 4000.0, 4]}}]}'
    tables, _ = read(tmp_path, "hccl_raw_1.csv", hccl("1000.0", "250.0", links, ops))
    assert tables["comm_ops"].ints("transit_ns").tolist() == [1_000_000]
    assert tables["comm_ops"].ints("wait_ns").tolist() == [250_000]


def test_types_are_read_by_their_place_and_shares_computed(tmp_path: Path) -> None:
    for names in ("kernel_type,total_time,execution_frequency,percent", "op_type,task_time,n,percent"):
        tables, problems = read(
            tmp_path, "aicore_intermediate_0_type.csv", f"{names}\nCast,0.25,5,7\nConv2D,0.75,1,9\n"
        )
        assert problems == []
        found = tables["op_statistic"]
        assert found.text("type").tolist() == ["Conv2D", "Cast"]
        assert found.ints("total_ns").tolist() == [750_000, 250_000]
        assert found.ints("avg_ns").tolist() == [750_000, 50_000]
        assert found.floats("ratio").tolist() == [75.0, 25.0]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a, 4.5, 20, 31", (4.5, 20, 31)),
        ("a, 4.5, 20, 1.5, 10", (6, 30, None)),
        ("a, 4.5, 20, 31, 1.5, 10, 9", (6, 30, 31)),
    ],
)
def test_work_of_operators_in_three_versions(tmp_path: Path, line: str, found: tuple[float, ...]) -> None:
    header = ", ".join(["op_full_name", *"abcdef"[: line.count(",")]])
    (tmp_path / "flops_0.txt").write_text(f"{header}\n{line}\n")
    tables: dict[str, Table] = {}
    detail = "name,time,count\na,0.5,2\n"
    (tmp_path / "aicore_intermediate_0_detail.csv").write_text(detail)
    for name in ("flops_0.txt", "aicore_intermediate_0_detail.csv"):
        tables.update(read_file(Reading(tmp_path / name, name, ProblemLog(), before=tables)))
    totals = finish(tables, Capture(), ProblemLog())["op_totals"]
    shown = [totals.floats(key).tolist() for key in ("flops", "flops_rate", "utilisation")]
    assert [None if value != value else value for [value] in shown] == list(found)
    assert totals.ints("total_ns").tolist() == [1_000_000]


def test_parts_of_another_shape_cost_themselves(tmp_path: Path) -> None:
    """They cost the whole file, as a defect of the reader."""
    text = (
        '{"sampling_interval":10,"op_info":[{"op_id":0,"op_type":"Batch","children":5,"metrics":[1]},'
        '{"op_id":1,"op_type":"Map","metrics":{"output_queue":{"size":[1,3],"length":4}}},{"op_id":2,"metrics":'
        '{"output_queue":"none"}}]}'
    )
    tables, problems = read(tmp_path, "pipeline_profiling_0.json", text)
    assert tables["minddata_ops"].floats("queue_usage").tolist()[1] == 0.5
    assert {problem.where for problem in problems} == {"children", "metrics", "output_queue"}
    text = (
        '{"time_stamp":"x","device_info":[1],"op_info":[{"op_id":0,"metrics":'
        '{"user_utilization":[1,2],"sys_utilization":[3,4]}}]}'
    )
    tables, problems = read(tmp_path, "minddata_cpu_utilization_0.json", text)
    assert tables["minddata_cpu"].floats("sys").tolist() == [3.0, 4.0]
    assert {problem.where for problem in problems} == {"time_stamp, op, time_stamp", "device_info"}


def test_four_integers_a_line_are_enough(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "dataset_iterator_profiling_0.txt", "0 0 1 4\n0 2 1 6\n1 64 1 3\nx\n")
    found = tables["minddata_batches"]
    assert codes(problems) == ["short_row"]
    assert (found.ints("get_ns")[0], found.ints("total_ns")[0]) == (4_000_000, 6_000_000)
    assert (found.ints("size")[0], found.ints("push_ns")[0]) == (3, NULL_INT)


CLUSTER = "ascend_cluster_analyse_data-parallel_1_2_0.csv"


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ("1,2\n3\n5,6\n3,4\n", [1, 3, NULL_INT]),
        ("1,2\n3,2\n5,6\n3", [1, 2, 3]),
        ("1,2\n3,2\n2,2\n\n", [1, 2, NULL_INT]),
    ],
)
def test_broken_rows_do_not_renumber_steps(tmp_path: Path, rows: str, steps: list[int]) -> None:
    """Step 3 was shown as step 2; and where the recorder's average was cut off, the last step as the average."""
    tables, _ = read(tmp_path, CLUSTER, f"computation_time,communication_alone_time\n{rows}")
    assert tables["parallel_times"].ints("step").tolist() == steps
    assert tables["parallel_times"].ints("average").tolist() == [int(step == NULL_INT) for step in steps]


def test_problems_of_cells_tell_the_line_of_the_file(tmp_path: Path) -> None:
    """They told that of the cell, which is always 1; and the links of a step went with its operators."""
    text = (
        "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n"
        '1,1,1,"{}","{""AllReduce"":[1,2,3,{""0-1"":{""SDMA"":[1,2,3]}}]}"\n'
        '2,1,1,"{}","{""AllReduce"":[1,2"\n3,1,1,"[1]","{}"\n'
        '4,1,1,"{}","{""A"":[1,2,3,{""0-1"":{""SDMA"":5}}],""B"":[1,2,3,7],""C"":[1,2,3,{""0-1"":3}]}"\n'
    )
    tables, problems = read(tmp_path, "hccl_raw_0.csv", text)
    assert [(problem.code, problem.where) for problem in problems] == [
        ("bad_json", "line 3, communication_operator_cost"),
        ("unexpected_shape", "line 4, link_info, step 4, A, step 4, B, step 4, C"),
    ]
    assert tables["comm_ops"].text("name").tolist() == ["AllReduce", "A", "B", "C"]


def test_less_than_nothing_is_unknown(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "hccl_raw_0.csv", hccl("1", "1", "{}", '{"A":[1,-2,3,{"0-1":{"SDMA":[1,-2]}}]}'))
    assert tables["comm_ops"].ints("transit_ns").tolist() == [NULL_INT]
    assert len(tables["comm_links"]) == 0
    assert set(codes(problems)) == {"bad_cell", "unexpected_shape"}
    tables, problems = read(
        tmp_path, "aicore_intermediate_0_type.csv", "a,b,c,d\nConv,-1,3,1\nMatMul,9e12,2,1\nAdd,2,4,1\n"
    )
    assert dict(
        zip(tables["op_statistic"].text("type").tolist(), tables["op_statistic"].ints("total_ns").tolist())
    ) == {"Add": 2_000_000, "Conv": NULL_INT, "MatMul": NULL_INT}
    assert tables["op_statistic"].floats("ratio")[0] == 100.0
    assert codes(problems) == ["bad_cell"]


def test_what_is_not_read_says_so(tmp_path: Path) -> None:
    name = "stream_3_AllReduce"
    header = f"{HEADER},{name}_start_point,{name}_e6d_point,{name}"
    _, problems = read(
        tmp_path, "step_trace_raw_0_detail_time.csv", f"{header}\n1,100,400,300,100,300,0,200,100,1,3,2\n"
    )
    assert [(problem.code, problem.found) for problem in problems] == [
        ("unknown_headers", f"{name}_start_point, {name}_e6d_point, {name}")
    ]
    _, problems = read(tmp_path, CLUSTER, "computation_time,communication_lone_time\n1,2\n1,2\n")
    assert [(problem.code, problem.found) for problem in problems] == [("unknown_headers", "communication_lone_time")]
    _, problems = read(tmp_path, "aicpu_intermediate_0.csv", "serial_number,type,total_time\n")
    assert codes(problems) == ["no_rows"]
    tables, problems = read(tmp_path, "step_trace_point_info.json", '{"fp_start": {}, "bp_end": "Default/Mul"}')
    assert [(problem.code, problem.where) for problem in problems] == [("unexpected_shape", "fp_start")]
    tables, problems = read(tmp_path, "step_trace_point_info.json", '{"fp_start": "a"}')
    assert problems == [] and tables["step_points"].text("bp_point").tolist() == [None]
