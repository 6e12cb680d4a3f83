"""Legacy MindSpore files become logical tables in ns and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.capture import read_capture
from tb_npu_plugin.readers.mindinsight.registry import finish, read_file
from tb_npu_plugin.tables import NULL_INT, Table, known
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.kernel import VIEW
from tests.support.span import TestSpan, spans_below

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"


def read(folder: Path, name: str, content: str, **before: Table) -> tuple[dict[str, Table], list[Problem]]:
    (folder / name).write_text(content)
    log = ProblemLog()
    tables = read_file(folder / name, name, log, lambda _: None, None, before)
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
        ("bad_cell", "line 3, fp_point"), ("bad_cell", "line 3, bp_point, line 4, bp_point"),
    }  # fmt: skip


def test_steps_are_in_the_order_of_time(tmp_path: Path) -> None:
    """The first one is left out of means: that is not the first line."""
    text = f"{HEADER}\n-,1,2,3,4,5,6,7,8\n2,400,900,500,450,800,50,350,100\n1,100,400,300,100,300,0,200,100\n"
    tables, _ = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    assert tables["iterations"].text("step").tolist() == ["1", "2", None]


def test_inference_has_fp_only(tmp_path: Path) -> None:
    text = "step_num,start_point,end_point,total,fp_point,iteration_interval,fp\n1,0,400,400,100,100,300\n"
    tables, problems = read(tmp_path, "step_trace_raw_0_detail_time.csv", text)
    assert problems == []
    assert tables["iterations"].ints("fp_bp_ns").tolist() == [3000]
    assert tables["iterations"].ints("tail_ns").tolist() == [NULL_INT]


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


def single() -> TestSpan:
    [span] = spans_below(RESULTS / "mindinsight_single")
    return span


def test_operators_are_joined_with_what_the_framework_knows() -> None:
    span = single()
    assert span.problems == []
    table = span.tables["op_totals"]
    assert len(table) == 145
    first = table.text("name").tolist().index("Default/network/Conv2D-op1")
    assert (table.text("type")[first], table.text("kernel")[first]) == ("Conv2D", "Conv2D-op1")
    assert table.text("input_types")[first] == "FLOAT16;FLOAT16"
    assert table.text("input_shapes")[first] == "32,64,56,56;32,64,56,56"
    assert table.ints("avg_ns")[first] == 61_500
    assert table.text("type")[144] == "Assign"  # the framework's list lacks it: its own name tells
    assert table.text("input_shapes")[144] is None
    assert table.floats("share").sum() == pytest.approx(1)


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
        tables.update(read_file(tmp_path / name, name, ProblemLog(), lambda _: None, None, tables))
    totals = finish(tables, Capture(), ProblemLog())["op_totals"]
    shown = [totals.floats(key).tolist() for key in ("flops", "flops_rate", "utilisation")]
    assert [None if value != value else value for [value] in shown] == list(found)
    assert totals.ints("total_ns").tolist() == [1_000_000]


def test_ai_cpu_stands_beside_ai_core() -> None:
    found = single().tables["op_statistic"]
    rows = dict(zip(zip(found.text("type").tolist(), found.text("core").tolist()), found.ints("total_ns").tolist()))
    assert rows["GetNext", "AI_CPU"] == 1_200_000
    assert rows["MatMul", "AI_CORE"] == 1_084_500


def test_timeline_data_are_kernels() -> None:
    kernels = single().tables["kernels"]
    assert len(kernels) == 290
    assert kernels.ints("dur_ns")[0] == 61_500
    assert kernels.ints("start_ns")[0] == 11_628_614_272_730


def test_the_data_pipeline() -> None:
    tables = single().tables
    assert tables["minddata_ops"].text("name").tolist() == ["Batch", "Map", "TFReader"]
    assert tables["minddata_ops"].ints("queue_capacity").tolist() == [NULL_INT, 32, 32]
    assert len(tables["minddata_queues"]) == 40
    queues = tables["minddata_batches"].text("queue").tolist()
    assert (queues.count("host"), queues.count("device")) == (20, 20)
    waits = tables["minddata_batches"].ints("get_ns")[tables["minddata_batches"].text("queue").equals("device")]
    assert ((waits >= 1_500_000) & (waits < 2_000_000)).all()


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
    assert codes(problems) == ["unexpected_shape"]


def test_four_integers_a_line_are_enough(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, "dataset_iterator_profiling_0.txt", "0 0 1 4\n0 2 1 6\n1 64 1 3\nx\n")
    found = tables["minddata_batches"]
    assert codes(problems) == ["short_row"]
    assert (found.ints("get_ns")[0], found.ints("total_ns")[0]) == (4_000_000, 6_000_000)
    assert (found.ints("size")[0], found.ints("push_ns")[0]) == (3, NULL_INT)


def test_a_broken_result_keeps_what_is_left() -> None:
    first, second = spans_below(RESULTS / "mindinsight_broken")
    assert first.tables["iterations"].text("step").tolist() == ["1", "3", "4", "5", "6", None]
    assert {"short_row", "inconsistent", "bad_json"} <= set(codes(first.problems))
    assert set(first.tables["comm_links"].text("step").tolist()) == {"1", "3", "4", "5", "6"}
    assert second.tables == {}
    assert codes(second.problems) == ["empty_file", "missing_column"]


def test_the_capture_knows_mode_and_stages() -> None:
    folder = RESULTS / "mindinsight_cluster" / "profiler"
    names = [path.name for path in folder.iterdir() if "_2." in path.name or "_2_d" in path.name]
    capture = read_capture(folder, names, ProblemLog())
    assert (capture.rank, capture.rank_source) == (2, "file names")
    assert capture.distributed_args == {"parallel_mode": "pipeline", "pipeline_stages": 2, "world_size": 4}
    assert capture.versions == {"MindSpore": "2.2.0"}
    assert capture.metadata["context_mode"] == "GRAPH_MODE"


def test_ranks_of_the_old_layout_are_those_of_the_table() -> None:
    assert [span.capture.rank for span in spans_below(RESULTS / "mindinsight_hosts")] == [0, 1, 2, 3]


def test_the_kernel_view_shows_what_the_recorder_summed_up() -> None:
    result = VIEW.build(ViewInput([single()], {}))
    assert {name: len(table.table) for name, table in result.tables.items()} == {
        "types": 14,
        "statistic": 145,
        "all": 290,
    }
    assert [core["core"] for core in result.data["cores"]] == ["AI_CORE", "AI_CPU"]
    assert result.data["computing_ns"] == sum(core["total_ns"] for core in result.data["cores"])
    span = single()
    without = TestSpan({"op_totals": span.tables["op_totals"]}, files=span.files, format=span.format)
    types = VIEW.build(ViewInput([without], {})).tables["types"].table
    assert dict(zip(types.text("type").tolist(), types.ints("calls").tolist()))["Cast"] == 26


@pytest.mark.parametrize("size", ["9" * 19, "9" * 23])
def test_sizes_of_a_queue_that_no_column_holds(tmp_path: Path, size: str) -> None:
    header = "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,output_queue_usage_rate,sample_interval,parent_id,children_id"
    text = f'{header}\n0,Batch,4,"[1, {size}]",1,16,0.1,10,,\n1,Map,4,"[2, 3]",1,16,0.1,10,0,\n'
    tables, problems = read(tmp_path, "minddata_pipeline_raw_0.csv", text)
    assert codes(problems) == ["unexpected_shape"]
    assert tables["minddata_ops"].text("name").tolist() == ["Batch", "Map"]
    assert tables["minddata_queues"].ints("size").tolist() == [2, 3]
