"""Files of MindSpore up to 2.2 and of its data pipeline: units, versions, damaged parts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis import data_pipeline as analysis
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.reader import finish, read_capture, read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table, known
from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.kernel import VIEW
from tests.support.fixtures import FIXTURES
from tests.support.span import TestSpan, found_spans

RESULTS = FIXTURES / "results"


@dataclass
class Case:
    """Files and what is read of them. Columns: "table.column" -> values, None where unknown. Problems: code and place."""

    files: dict[str, str]
    columns: dict[str, list[Any]]
    problems: list[str] = field(default_factory=list)


def read(folder: Path, *files: tuple[str, str]) -> tuple[dict[str, Table], list[Problem]]:
    """The files in this order, as the worker reads them."""
    log, tables = ProblemLog(), dict[str, Table]()
    for name, content in files:
        (folder / name).write_text(content)
        tables.update(read_file(Reading(folder / name, name, log, before=tables)))
    return finish(tables, Capture(), log), log.list()


def places_of(problems: list[Problem]) -> list[str]:
    """Code and place of each."""
    return [f"{problem.code} {problem.where}".strip() for problem in problems]


def values(table: Table, column: str) -> list[Any]:
    """Values of a column, None where unknown."""
    return [None if value == NULL_INT or value != value else value for value in table.data[column].tolist()]


ITERATIONS, HCCL = "step_trace_raw_0_detail_time.csv", "hccl_raw_1.csv"
TYPES, DETAIL, WORK = "aicore_intermediate_0_type.csv", "aicore_intermediate_0_detail.csv", "flops_0.txt"
FRAMEWORK, AI_CPU = "framework_raw_0.csv", "aicpu_intermediate_0.csv"
CLUSTER, POINTS = "ascend_cluster_analyse_data-parallel_1_2_0.csv", "step_trace_point_info.json"
HOST, ITERATOR, DEVICE = "device_queue_profiling_0.txt", "dataset_iterator_profiling_0.txt", "minddata_aicpu_0.txt"
RAW, SAMPLED, CPU = "minddata_pipeline_raw_0.csv", "pipeline_profiling_0.json", "minddata_cpu_utilization_0.json"
JSON, CSV = "minddata_pipeline_summary_0.json", "minddata_pipeline_summary_0.csv"

STEP_HEADER = "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail"
STEP = "1,100,400,300,100,300,0,200,100"
REDUCE = "stream_1_AllReduce"
RAW_HEADER = (
    "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
    "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
)


def steps(*rows: str, more: str = "") -> dict[str, str]:
    """A file of steps; `more` is added to the header."""
    return {ITERATIONS: "\n".join([STEP_HEADER + more, *rows, ""])}


def hccl(*rows: tuple[str, str, str, str]) -> str:
    """A file of communication: cost, wait, links and operators of each step."""
    header = "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n"
    quoted = ((cost, wait, *('"' + cell.replace('"', '""') + '"' for cell in cells)) for cost, wait, *cells in rows)
    return header + "".join(f"{number},{','.join(cells)}\n" for number, cells in enumerate(quoted, 1))


def raw(*rows: str) -> dict[str, str]:
    return {RAW: RAW_HEADER + "".join(f"{row}\n" for row in rows)}


def sampled(sizes: str, interval: str = "10") -> dict[str, str]:
    queue = f'{{"output_queue": {{"size": {sizes}, "length": 4}}}}'
    return {SAMPLED: f'{{"sampling_interval": {interval}, "op_info": [{{"op_id": 0, "metrics": {queue}}}]}}'}


def cpu(idle: list[int], op: list[int]) -> dict[str, str]:
    busy = [100 - one if one else 0 for one in idle]
    machine = {"user_utilization": busy, "sys_utilization": [0] * len(idle), "idle_utilization": idle}
    metrics = {"user_utilization": op, "sys_utilization": [0] * len(op)}
    stamps = [10 * number for number in range(len(idle))]
    return {
        CPU: json.dumps({"time_stamp": stamps, "device_info": machine, "op_info": [{"op_id": 0, "metrics": metrics}]})
    }


CASES = {
    "steps count 10 ns": Case(
        steps(STEP, "2,400,900,500,450,800,50,350,100", "-,1,2,3,4,5,6,7,8"),
        {
            "iterations.step": ["1", "2", None],
            "iterations.average": [0, 0, 1],
            "iterations.interval_ns": [0, 500, 60],
            "iterations.fp_bp_ns": [2000, 3500, 70],
            "iterations.tail_ns": [1000, 1000, 80],
            "iterations.total_ns": [3000, 5000, 30],
        },
    ),
    "figures that contradict their points": Case(
        steps("1,100,400,300,100,300,0,200,99"), {"iterations.tail_ns": [1000]}, ["inconsistent line 2, tail"]
    ),
    "points outside of their step": Case(
        steps(STEP, "2,400,700,300,350,800,-50,450,-100", "3,700,999,299,750,740,50,-10,259"),
        {
            "iterations.total_ns": [3000, 3000, 2990],
            "iterations.interval_ns": [0, None, 500],
            "iterations.fp_bp_ns": [2000, None, None],
            "iterations.tail_ns": [1000, None, 2590],
        },
        ["bad_cell line 3, fp_point", "bad_cell line 3, bp_point, line 4, bp_point"],
    ),
    "inference": Case(
        {ITERATIONS: "step_num,start_point,end_point,total,fp_point,iteration_interval,fp\n1,0,400,400,100,100,300\n"},
        {"iterations.fp_bp_ns": [3000], "iterations.tail_ns": [None]},
    ),
    "reduces": Case(
        steps(f"{STEP},50,200,250", more=f",{REDUCE},{REDUCE}_start_point,{REDUCE}_end_point"),
        {
            "iteration_reduces.stream_id": [1],
            "iteration_reduces.start_ns": [2000],
            "iteration_reduces.dur_ns": [500],
        },
    ),
    "reduces in another order": Case(
        steps(f"{STEP},200,250,50", more=f",{REDUCE}_start_point,{REDUCE}_end_point,{REDUCE}"),
        {"iteration_reduces.start_ns": [2000], "iteration_reduces.dur_ns": [500]},
    ),
    "costs in us": Case(
        {
            HCCL: hccl(
                (
                    "1000.0",
                    "250.0",
                    '{"0-1": {"SDMA": [1.0, 4000.0, 4]}}',
                    '{"stream_3_0_AllReduce-op1": ["1", 1000.0, 250.0, {"0-1": {"SDMA": [1.0, 4000.0, 4]}}]}',
                )
            )
        },
        {"comm_ops.transit_ns": [1_000_000], "comm_ops.wait_ns": [250_000]},
    ),
    "negative cost": Case(
        {HCCL: hccl(("1", "1", "{}", '{"A":[1,-2,3,{"0-1":{"SDMA":[1,-2]}}]}'))},
        {"comm_ops.transit_ns": [None], "comm_links.size_bytes": []},
        ["bad_cell step 1, A, cost", "bad_cell step 1, A, 0-1", "unexpected_shape step 1, A, 0-1"],
    ),
    "types by place": Case(
        {TYPES: "op_type,task_time,n,percent\nCast,0.25,5,7\nConv2D,0.75,1,9\n"},
        {
            "op_statistic.total_ns": [750_000, 250_000],
            "op_statistic.avg_ns": [750_000, 50_000],
            "op_statistic.ratio": [75.0, 25.0],
        },
    ),
    "negative and huge times of types": Case(
        {TYPES: "a,b,c,d\nConv,-1,3,1\nMatMul,9e12,2,1\nAdd,2,4,1\n"},
        {"op_statistic.total_ns": [2_000_000, None, None], "op_statistic.ratio": [100.0, None, None]},
        ["bad_cell line 2, b, line 3, b"],
    ),
    "means of known times": Case(
        {AI_CPU: "serial_number,type,total_time\n1,Cast,1.5\n2,Cast,x\n3,Cast,2.5\n"},
        {"op_statistic.calls": [3], "op_statistic.total_ns": [4_000_000], "op_statistic.avg_ns": [2_000_000]},
        ["not_a_number line 3, total_time"],
    ),
    "broken rows keep the numbers of steps": Case(
        {CLUSTER: "computation_time,communication_alone_time\n1,2\n3\n5,6\n3,4\n"},
        {"parallel_times.step": [1, 3, None], "parallel_times.average": [0, 0, 1]},
        ["short_row line 3"],
    ),
    "no average at the end": Case(
        {CLUSTER: "computation_time,communication_alone_time\n1,2\n3,2\n5,6\n3"},
        {"parallel_times.step": [1, 2, 3], "parallel_times.average": [0, 0, 0]},
        ["truncated_row line 5"],
    ),
    "four integers a line": Case(
        {ITERATOR: "0 0 1 4\n0 2 1 6\n1 64 1 3\nx\n"},
        {
            "minddata_batches.get_ns": [4_000_000],
            "minddata_batches.total_ns": [6_000_000],
            "minddata_batches.size": [3],
            "minddata_batches.push_ns": [None],
        },
        ["short_row line 4"],
    ),
    "header of older versions": Case(
        {
            DEVICE: "node_name start_time end_time queue_size\nGetNext_dequeue_wait 10 12 3\nInitData 12 13 0\n"
            "GetNext_dequeue_wait 20.5 22.75 1\n"
        },
        {"minddata_batches.size": [3, 1], "minddata_batches.get_ns": [2_000, 2_250]},
        ["no_batch line 3"],
    ),
    "times with fractions, unknown kinds": Case(
        {HOST: "0 0 1 4.5 9\n2 0 7 1 9\n0 3 8 1 9\n1 64 1 -1 9\n"},
        {"minddata_batches.batch": [1], "minddata_batches.get_ns": [4_500_000], "minddata_batches.size": [None]},
        ["short_row line 2, line 3, line 4"],
    ),
    "second epoch": Case(
        {HOST: "1 64 1 5 9\n0 0 1 2 9\n1 64 2 6 9\n1 64 1 0 9\n0 0 1 3 9\n"},
        {"minddata_batches.size": [5, 0, 6], "minddata_batches.get_ns": [2_000_000, 3_000_000, None]},
    ),
    "cut line": Case({HOST: "1 64 1 0 9\n1 64 2 1 9"}, {"minddata_batches.batch": [1, 2]}, ["no_final_line_break"]),
    "joined lines": Case(
        {HOST: "1 64 1 0 9\n1 64 2 1 9 1 64 3 1 9\n"}, {"minddata_batches.batch": [1]}, ["short_row line 2"]
    ),
    "bytes between lines": Case(
        {HOST: "1 64 1 0 9\n1 64 2 1 9\x001 64 3 1 9\n"},
        {"minddata_batches.batch": [1]},
        ["bad_bytes line 2", "short_row line 2"],
    ),
    "bytes in a name": Case(raw("0,B\x00atch" + "," * 8), {"minddata_ops.name": ["B\ufffdatch"]}, ["bad_bytes line 2"]),
    "operators by number": Case(
        raw(
            "x,Batch,4,,,,,10,,",
            '1,Map,4,"[10, 20]",15,64,,10,,',
            '1,Map,4,"[1, 1]",1,64,,10,,',
            '2,Map,1,"[-1]",,-4,,10,1,',
        ),
        {"minddata_ops.op_id": [1, 2], "minddata_queues.size": [10, 20], "minddata_ops.queue_usage": [15 / 64, None]},
        [
            "not_a_number line 2, op_id",
            "bad_required_cell line 2, op_id, line 4, op_id",
            "unexpected_shape line 5, output_queue_size",
        ],
    ),
    "size that no column holds": Case(
        raw(f'0,Batch,4,"[1, {"9" * 19}]",1,16,0.1,10,,', '1,Map,4,"[2, 3]",1,16,0.1,10,0,'),
        {"minddata_ops.op_id": [0, 1], "minddata_queues.size": [2, 3]},
        ["unexpected_shape line 2, output_queue_size"],
    ),
    "unknown sample keeps its time": Case(
        sampled('[1, "x", 3]'),
        {
            "minddata_queues.size": [1, None, 3],
            "minddata_queues.time_ns": [0, 10_000_000, 20_000_000],
            "minddata_ops.queue_usage": [0.5],
        },
        ["bad_cell size"],
    ),
    "unknown interval": Case(
        sampled("[1, 2]", "true"), {"minddata_queues.time_ns": [None] * 2}, ["not_a_number sampling_interval"]
    ),
    "table without rows": Case(
        {**raw(), SAMPLED: '{"op_info": [{"op_id": 0, "op_type": "BatchOp"}]}'},
        {"minddata_ops.op_id": [0]},
        ["no_rows"],
    ),
    "children": Case(
        {SAMPLED: '{"op_info": [{"op_id": 0, "op_type": "A", "children": [1, "x"]}, {"op_id": 1, "op_type": "B"}]}'},
        {"minddata_ops.op_id": [0, 1], "minddata_ops.parent_id": [None, 0]},
        ["bad_cell children"],
    ),
    "summary without operators": Case({JSON: '{"per_batch_time": [5.5]}'}, {}, ["unexpected_shape op_ids"]),
    "summary with too few figures": Case(
        {
            **raw(*(f"{number},Op,1,[],,4,,10,,[]" for number in range(3))),
            JSON: '{"op_ids": [0, 1, 2], "queue_empty_freq_pct": [10, 20], "avg_cpu_pct": [1, 2, 3], "per_batch_time": [4]}',
        },
        {
            "minddata_ops.queue_empty": [None] * 3,
            "minddata_ops.cpu": [1, 2, 3],
            "minddata_ops.batch_ns": [4_000_000, None, None],
        },
        ["unexpected_shape queue_empty_freq_pct"],
    ),
    "values without stamps": Case(
        cpu([90, 80], [50, 70, 90]), {"minddata_cpu.user": [10, 20, 50, 70, 90]}, ["unexpected_shape op, time_stamp"]
    ),
    "first sample of the CPU is zeros": Case(
        cpu([0, 80, 60], [0, 50, 70]),
        {
            "minddata_cpu.time_ns": [10_000_000, 20_000_000] * 2,
            "minddata_cpu.user": [20.0, 40.0, 50.0, 70.0],
        },
    ),
    "first sample of the machine only": Case(
        cpu([90, 80, 60], [50, 70]), {"minddata_cpu.time_ns": [0, 10_000_000, 20_000_000, 10_000_000, 20_000_000]}
    ),
    "unknown headers of reduces": Case(
        steps(f"{STEP},1,3,2", more=f",{REDUCE}_start_point,{REDUCE}_e6d_point,{REDUCE}"),
        {"iterations.total_ns": [3000]},
        ["unknown_headers line 1"],
    ),
    "points of a wrong shape": Case(
        {POINTS: '{"fp_start": {}, "bp_end": "Default/Mul"}'}, {}, ["unexpected_shape fp_start"]
    ),
    "types in names": Case(
        {DETAIL: "name,time,count\nNet/Conv2D-op13,1,1\nNet/-op2,1,1\nNet/plain,1,1\n"},
        {"op_totals.type": ["Conv2D", None, None]},
    ),
    "work of other operators": Case(
        {
            DETAIL: "name,time,count\nNet/a-op1,1,1\nNet/b-op2,1,1\n",
            WORK: "n, a, b, c\nNet/a-op1, 1, 2, 3\nc-op3, 1, 2, 3\n",
        },
        {"op_totals.total_ns": [1_000_000, 1_000_000]},
        ["unmatched"],
    ),
    "work without operators": Case({WORK: "n, a, b, c\nNet/a-op1, 1, 2, 3\n"}, {}, ["unmatched"]),
    "flops summary of something else": Case({"flops_summary_0.json": '{"other": 1}'}, {}, ["unexpected_shape"]),
    "memory summary of something else": Case({"memory_usage_summary_0.json": '{"other": 1}'}, {}, ["unexpected_shape"]),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_and_problems(tmp_path: Path, case: str) -> None:
    expected = CASES[case]
    tables, problems = read(tmp_path, *expected.files.items())
    places = {key: key.split(".") for key in expected.columns}
    assert {key: values(tables[table], column) for key, (table, column) in places.items()} == expected.columns
    assert places_of(problems) == expected.problems


@pytest.mark.parametrize("step", ["x", "", "1.5", "nan"])
def test_row_without_a_step_number_is_skipped(step: str, tmp_path: Path) -> None:
    more = f",{REDUCE},{REDUCE}_start_point,{REDUCE}_end_point"
    case = steps(f"{STEP},50,200,250", f"{step},109,409,300,100,300,0,200,100,50,200,250", more=more)
    tables, problems = read(tmp_path, *case.items())
    assert tables["iterations"].text("step").tolist() == ["1"] == tables["iteration_reduces"].text("step").tolist()
    assert places_of(problems) == ["bad_required_cell line 3"]


def test_bandwidth_is_recomputed_from_bytes_and_times(tmp_path: Path) -> None:
    links = '{"0-1": {"SDMA": [3.0, 6000.0, 999]}, "1-1": {"SDMA": [1.0, 100.0, 9]}}'
    ops = (
        '{"stream_3_0_AllReduce-op1": ["1", 1.5, 0.25, {"0-1": {"SDMA": [1.0, 4000.0, 9]}, "1-1": {"SDMA": [0.5, 50, 9]}}],'
        ' "stream_3_1_AllReduce-op2": ["1", 2.5, 0.25, {"0-1": {"SDMA": [2.0, 2000.0, 9]}, "1-1": {"SDMA": [0.5, 50, 9]}}],'
        ' "stream_4_0_Receive-op3": ["1", 0, 2.0, {}]}'
    )
    tables, problems = read(tmp_path, (HCCL, hccl(("4.0", "2.5", links, ops))))
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
    assert not known(operators.ints("elapse_ns")).any() and not known(operators.ints("idle_ns")).any()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a, 4.5, 20, 31", [4.5, 20, 31]),
        ("a, 4.5, 20, 1.5, 10", [6, 30, None]),
        ("a, 4.5, 20, 31, 1.5, 10, 9", [6, 30, 31]),
        ("a, 1, 2, N/A, 4", [None, 6, None]),
    ],
)
def test_work_of_operators_in_all_versions(tmp_path: Path, line: str, found: list[float | None]) -> None:
    header = ", ".join(["op_full_name", *"abcdef"[: line.count(",")]])
    tables, _ = read(tmp_path, (WORK, f"{header}\n{line}\n"), (DETAIL, "name,time,count\na,0.5,2\n"))
    totals = tables["op_totals"]
    assert [values(totals, key)[0] for key in ("flops", "flops_rate", "utilisation")] == found
    assert totals.ints("total_ns").tolist() == [1_000_000]


def test_parts_of_a_wrong_shape_are_skipped(tmp_path: Path) -> None:
    text = (
        '{"sampling_interval":10,"op_info":[{"op_id":0,"op_type":"Batch","children":5,"metrics":[1]},'
        '{"op_id":1,"op_type":"Map","metrics":{"output_queue":{"size":[1,3],"length":4}}},{"op_id":2,"metrics":'
        '{"output_queue":"none"},"children":[1,"2"]},{"op_id": 2},{"op_id": "3"},5]}'
    )
    tables, problems = read(tmp_path, (SAMPLED, text))
    assert values(tables["minddata_ops"], "queue_usage")[1] == 0.5
    assert values(tables["minddata_ops"], "op_id") == [0, 1, 2]
    assert {"children", "metrics", "output_queue"} <= {problem.where for problem in problems}
    text = '{"time_stamp":"x","device_info":[1],"op_info":[{"op_id":"x","metrics":{"user_utilization":[1,2],"sys_utilization":[3,4]}}]}'
    tables, problems = read(tmp_path, (CPU, text))
    assert tables["minddata_cpu"].floats("sys").tolist() == [3.0, 4.0]
    assert values(tables["minddata_cpu"], "op_id") == [None, None]
    assert {problem.where for problem in problems} == {"time_stamp, op, time_stamp", "device_info", "op_id"}


def test_problems_name_line_and_step(tmp_path: Path) -> None:
    rows = [
        ("1", "1", "{}", '{"AllReduce":[1,2,3,{"0-1":{"SDMA":[1,2,3]}}]}'),
        ("1", "1", "{}", '{"AllReduce":[1,2'),
        ("1", "1", "[1]", "{}"),
        ("1", "1", "{}", '{"A":[1,2,3,{"0-1":{"SDMA":5}}],"B":[1,2,3,7],"C":[1,2,3,{"0-1":3}]}'),
    ]
    tables, problems = read(tmp_path, (HCCL, hccl(*rows)))
    assert places_of(problems) == [
        "bad_json line 3, communication_operator_cost",
        "unexpected_shape line 4, link_info, step 4, A, step 4, B, step 4, C",
    ]
    assert tables["comm_ops"].text("name").tolist() == ["AllReduce", "A", "B", "C"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    "files",
    [
        ((HOST, "1 64 1 0\n1 64 2 1\n"), (ITERATOR, "1 64 1 3\n")),
        ((DEVICE, "GetNext 1 2 0\nGetNext 3 4 1\n"), ("minddata_getnext_profiling_0.txt", "GetNext 1 2 9\n")),
    ],
)
def test_better_of_two_files_of_a_queue_is_used(
    tmp_path: Path, order: tuple[int, int], files: tuple[tuple[str, str], ...]
) -> None:
    tables, problems = read(tmp_path, *(files[number] for number in order))
    assert tables["minddata_batches"].ints("size").tolist() == [0, 1] and problems == []
    for broken in ("", "x\n"):
        tables, _ = read(tmp_path, *((files[0][0], broken) if number == 0 else files[1] for number in order))
        assert len(tables["minddata_batches"]) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_json_summary_is_used_before_csv(tmp_path: Path, order: tuple[int, int]) -> None:
    """A CSV file that was cut can be read, but holds less."""
    whole = json.dumps({"op_ids": [0, 1], "avg_cpu_pct": [15, 50], "bottleneck_warning": ["slow"]})
    files = [(CSV, "op_ids,0,1\navg_cpu_pct,1"), (JSON, whole)]
    operators = raw("0,Batch" + "," * 8, "1,Map" + "," * 8)
    tables, problems = read(tmp_path, *operators.items(), *(files[number] for number in order))
    assert tables["minddata_ops"].floats("cpu").tolist() == [15.0, 50.0]
    assert tables["minddata_remarks"].text("text").tolist() == ["slow"]
    assert places_of(problems) == ["no_final_line_break"] * (order[0] == 0)


@pytest.mark.parametrize("line", ["GetNext_dequeue_wait 0 0 0", "GetNext_dequeue_wait 5 4 1", "GetNext 1 2", "x"])
def test_lines_without_a_batch_are_skipped(tmp_path: Path, line: str) -> None:
    tables, problems = read(tmp_path, (DEVICE, f"GetNext_dequeue_wait 10 12 3\n{line}\n"))
    assert places_of(problems) == ["short_row line 2"]
    assert tables["minddata_batches"].ints("batch").tolist() == [1]


def test_machine_is_not_busy_in_the_first_sample(tmp_path: Path) -> None:
    """MindSpore writes zeros for it, idle included."""
    tables, problems = read(tmp_path, *cpu([0, 80, 60], [0, 50, 70]).items())
    assert analysis.analyse_pipeline(None, None, tables["minddata_cpu"]).machine_cpu == 30.0 and problems == []


def test_placeholders_between_figures_of_the_machine_are_left_out(tmp_path: Path) -> None:
    """MindSpore 2.10 writes a 0 after each; user and sys are cut to the number of stamps."""
    content = json.loads(cpu([0, 80, 60, 70], [0, 5, 5, 5])[CPU])
    content["device_info"] = {
        "idle_utilization": [0, 0, 80, 0, 60, 0, 70, 0],
        "user_utilization": [0, 0, 12, 0],
        "sys_utilization": [0, 0, 8, 0],
    }
    tables, problems = read(tmp_path, (CPU, json.dumps(content)))
    table = tables["minddata_cpu"]
    machine = table.take(table.text("scope").equals("machine"))
    assert machine.floats("idle").tolist() == [80.0, 60.0, 70.0]
    assert np.array_equal(machine.floats("user"), [12, np.nan, np.nan], equal_nan=True)
    assert problems == []


def test_list_of_other_operators_is_reported(tmp_path: Path) -> None:
    """A list with more than was measured is usual: copies and AI CPU calls have no times there."""
    header = "stream_id,block_dim,full_kernel_name,op_name,kernel_name,kernel_type,subgraph,op_info\n"
    rows = [f"0,1,Net/{name},{name},{name},T,Default,\n" for name in ("a-op1", "b-op2", "c-op3")]
    detail = (DETAIL, "name,time,count\nNet/a-op1,1,1\n")
    assert read(tmp_path, detail, (FRAMEWORK, header + "".join(rows)))[1] == []
    (found,) = read(tmp_path, detail, (FRAMEWORK, header + "".join(rows[1:])))[1]
    assert (found.code, found.found) == ("unmatched", "2 of 2 rows name other operators")
    assert found.file == "framework_raw_<rank>.csv"


def test_a_broken_result_keeps_what_is_left() -> None:
    first, second = found_spans(RESULTS / "mindinsight_broken")
    assert first.tables["iterations"].text("step").tolist() == ["1", "3", "4", "5", "6", None]
    assert {"short_row", "inconsistent", "bad_json"} <= {problem.code for problem in first.problems}
    assert set(first.tables["comm_links"].text("step").tolist()) == {"1", "3", "4", "5", "6"}
    assert second.tables == {}
    assert [problem.code for problem in second.problems] == ["lost_file", "lost_file", "empty_file", "missing_column"]


def test_the_capture_knows_mode_and_stages() -> None:
    folder = RESULTS / "mindinsight_cluster" / "profiler"
    names = [path.name for path in folder.iterdir() if "_2." in path.name or "_2_d" in path.name]
    capture = read_capture(folder, names, ProblemLog())
    assert (capture.rank, capture.rank_source) == (2, "file names")
    assert capture.distributed_args == {"parallel_mode": "pipeline", "pipeline_model_parallel_size": 2, "world_size": 4}
    assert capture.versions == {"MindSpore": "2.2.0"}
    assert capture.metadata["context_mode"] == "GRAPH_MODE"


def test_the_kernel_view_shows_what_the_recorder_summed_up() -> None:
    (span,) = found_spans(RESULTS / "mindinsight_single")
    result = VIEW.build(ViewInput([span], {}))
    assert {name: len(table.table) for name, table in result.tables.items()} == {
        "types": 14,
        "statistic": 145,
        "all": 290,
    }
    assert [core["core"] for core in result.data["cores"]] == ["AI_CORE", "AI_CPU"]
    assert result.data["computing_ns"] == sum(core["total_ns"] for core in result.data["cores"])
    without = TestSpan({"op_totals": span.tables["op_totals"]}, files=span.files, format=span.format)
    types = VIEW.build(ViewInput([without], {})).tables["types"].table
    assert dict(zip(types.text("type").tolist(), types.ints("calls").tolist()))["Cast"] == 26


def test_ranks_of_the_old_layout_are_those_of_the_table() -> None:
    assert [span.capture.rank for span in found_spans(RESULTS / "mindinsight_hosts")] == [0, 1, 2, 3]
