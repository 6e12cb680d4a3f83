"""Files of MindSpore's data pipeline: two that tell the same, what recorders leave in them, and what is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_npu_plugin.analysis import data_pipeline as analysis
from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.registry import finish, read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table

RAW_HEADER = (
    "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
    "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
)
HOST, ITERATOR, DEVICE = "device_queue_profiling_0.txt", "dataset_iterator_profiling_0.txt", "minddata_aicpu_0.txt"
RAW, SAMPLED, CPU = "minddata_pipeline_raw_0.csv", "pipeline_profiling_0.json", "minddata_cpu_utilization_0.json"
JSON, CSV = "minddata_pipeline_summary_0.json", "minddata_pipeline_summary_0.csv"


def read(folder: Path, *files: tuple[str, str]) -> tuple[dict[str, Table], list[Problem]]:
    """The files in this order, as the worker reads them."""
    log, tables = ProblemLog(), dict[str, Table]()
    for name, content in files:
        (folder / name).write_text(content)
        tables.update(read_file(Reading(folder / name, name, log, before=tables)))
    return finish(tables, Capture(), log), log.list()


def told(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.code, problem.where) for problem in problems]


def test_the_header_of_older_versions_is_no_batch(tmp_path: Path) -> None:
    """MindSpore writes it, but for the newest. Its time may have fractions, and other operators none of our batches."""
    text = (
        "node_name start_time end_time queue_size\nGetNext_dequeue_wait 10 12 3\nInitData 12 13 0\n"
        "GetNext_dequeue_wait 20.5 22.75 1\n"
    )
    tables, problems = read(tmp_path, (DEVICE, text))
    assert problems == []
    assert tables["minddata_batches"].ints("size").tolist() == [3, 1]
    assert tables["minddata_batches"].ints("get_ns").tolist() == [2_000, 2_250]


@pytest.mark.parametrize("line", ["GetNext_dequeue_wait 0 0 0", "GetNext_dequeue_wait 5 4 1", "GetNext 1 2", "x"])
def test_lines_that_tell_no_batch_are_lost_with_a_problem(tmp_path: Path, line: str) -> None:
    tables, problems = read(tmp_path, (DEVICE, f"GetNext_dequeue_wait 10 12 3\n{line}\n"))
    assert told(problems) == [("short_row", "line 2")]
    assert tables["minddata_batches"].ints("batch").tolist() == [1]


def test_batches_that_are_counted_anew_are_others(tmp_path: Path) -> None:
    """The second epoch replaced the first one."""
    tables, problems = read(tmp_path, (HOST, "1 64 1 5 9\n0 0 1 2 9\n1 64 2 6 9\n1 64 1 0 9\n0 0 1 3 9\n"))
    assert problems == []
    assert tables["minddata_batches"].ints("size").tolist() == [5, 0, 6]
    assert tables["minddata_batches"].ints("get_ns").tolist() == [2_000_000, 3_000_000, NULL_INT]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    "files",
    [
        ((HOST, "1 64 1 0\n1 64 2 1\n"), (ITERATOR, "1 64 1 3\n")),
        ((DEVICE, "GetNext 1 2 0\nGetNext 3 4 1\n"), ("minddata_getnext_profiling_0.txt", "GetNext 1 2 9\n")),
    ],
)
def test_of_two_files_of_one_queue_the_better_one_stands(
    tmp_path: Path, order: tuple[int, int], files: tuple[tuple[str, str], ...]
) -> None:
    """Each batch counted twice."""
    tables, problems = read(tmp_path, *(files[number] for number in order))
    assert tables["minddata_batches"].ints("size").tolist() == [0, 1]
    assert problems == []
    for broken in ("", "x\n"):
        tables, _ = read(tmp_path, *((files[0][0], broken) if number == 0 else files[1] for number in order))
        assert len(tables["minddata_batches"]) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_summary_as_json_stands_before_the_csv(tmp_path: Path, order: tuple[int, int]) -> None:
    """A CSV file that was cut can be read, but says less."""
    whole = json.dumps({"op_ids": [0, 1], "avg_cpu_pct": [15, 50], "bottleneck_warning": ["slow"]})
    files = [(CSV, "op_ids,0,1\navg_cpu_pct,1"), (JSON, whole)]
    tables, problems = read(
        tmp_path,
        (RAW, RAW_HEADER + "0,Batch" + "," * 8 + "\n1,Map" + "," * 8 + "\n"),
        *(files[number] for number in order),
    )
    assert tables["minddata_ops"].floats("cpu").tolist() == [15.0, 50.0]
    assert tables["minddata_remarks"].text("text").tolist() == ["slow"]
    assert told(problems) == [("no_final_line_break", "")] * (order[0] == 0)


def test_a_summary_without_operators_says_so(tmp_path: Path) -> None:
    tables, problems = read(tmp_path, (JSON, '{"per_batch_time": [5.5]}'))
    assert told(problems) == [("unexpected_shape", "op_ids")]
    assert tables == {}


def test_operators_have_numbers_of_their_own(tmp_path: Path) -> None:
    """They went into the view as -2**63, and two of one number shared a queue."""
    rows = (
        'x,Batch,4,,,,,10,,\n1,Map,4,"[10, 20]",15,64,,10,,\n1,Map,4,"[1, 1]",1,64,,10,,\n2,Map,1,"[-1]",,-4,,10,1,\n'
    )
    tables, problems = read(tmp_path, (RAW, RAW_HEADER + rows))
    assert tables["minddata_ops"].ints("op_id").tolist() == [1, 2]
    assert tables["minddata_queues"].ints("size").tolist() == [10, 20]
    assert tables["minddata_ops"].floats("queue_usage").tolist()[0] == 15 / 64
    assert ("bad_required_cell", "line 2, op_id, line 4, op_id") in told(problems)
    assert ("unexpected_shape", "line 5, output_queue_size") in told(problems)
    items = '{"op_id": 0, "children": [1, "2"]}, {"op_id": 0}, {"op_id": "1"}, 5'
    tables, problems = read(tmp_path, (SAMPLED, f'{{"op_info": [{items}]}}'))
    assert tables["minddata_ops"].ints("op_id").tolist() == [0]
    assert {code for code, _ in told(problems)} == {"bad_required_cell", "bad_cell", "unexpected_shape"}


def test_a_sample_that_is_none_keeps_its_moment(tmp_path: Path) -> None:
    """Those behind it moved forward by one interval."""
    queue = '{"output_queue": {"size": [1, "x", 3], "length": 4}}'
    text = f'{{"sampling_interval": 10, "op_info": [{{"op_id": 0, "metrics": {queue}}}]}}'
    tables, problems = read(tmp_path, (SAMPLED, text))
    assert tables["minddata_queues"].ints("size").tolist() == [1, NULL_INT, 3]
    assert tables["minddata_queues"].ints("time_ns").tolist() == [0, 10_000_000, 20_000_000]
    assert tables["minddata_ops"].floats("queue_usage").tolist() == [0.5]
    assert told(problems) == [("bad_cell", "size")]


def cpu(idle: list[int], op: list[int]) -> str:
    busy = [100 - one if one else 0 for one in idle]
    machine = {"user_utilization": busy, "sys_utilization": [0] * len(idle), "idle_utilization": idle}
    metrics = {"user_utilization": op, "sys_utilization": [0] * len(op)}
    stamps = [10 * number for number in range(len(idle))]
    return json.dumps({"time_stamp": stamps, "device_info": machine, "op_info": [{"op_id": 0, "metrics": metrics}]})


def test_the_first_sample_of_the_cpu_is_no_measure(tmp_path: Path) -> None:
    """MindSpore writes zeros for it, and as idle 0 it made the machine busy."""
    tables, problems = read(tmp_path, (CPU, cpu([0, 80, 60], [0, 50, 70])))
    found = analysis.examine(None, None, tables["minddata_cpu"])
    assert problems == []
    assert found.machine_cpu == 30.0
    assert tables["minddata_cpu"].ints("time_ns").tolist() == [10_000_000, 20_000_000] * 2
    assert tables["minddata_cpu"].floats("user").tolist() == [20.0, 40.0, 50.0, 70.0]
    tables, _ = read(tmp_path, (CPU, cpu([90, 80, 60], [50, 70])))  # one value less than stamps: the base is not there
    assert tables["minddata_cpu"].ints("time_ns").tolist() == [0, 10_000_000, 20_000_000, 10_000_000, 20_000_000]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("1 64 2 1 9", ["no_final_line_break"]),
        ("1 64 2 1 9\x001 64 3 1 9\n", ["bad_bytes", "short_row"]),
        ("1 64 2 1 9 1 64 3 1 9\n", ["short_row"]),
    ],
)
def test_lines_that_were_cut_or_joined_say_so(tmp_path: Path, line: str, codes: list[str]) -> None:
    _, problems = read(tmp_path, (HOST, f"1 64 1 0 9\n{line}"))
    assert [problem.code for problem in problems] == codes


@pytest.mark.parametrize("interval", ['"ten"', "true", "[10]"])
def test_an_interval_that_is_none_is_told(tmp_path: Path, interval: str) -> None:
    """All samples lost their times, and nothing said so."""
    op = (
        '{"op_id": 0, "op_type": "Batch", "num_workers": 1, "metrics": {"output_queue": {"size": [1, 2], "length": 4}}}'
    )
    tables, problems = read(tmp_path, (SAMPLED, f'{{"sampling_interval": {interval}, "op_info": [{op}]}}'))
    assert tables["minddata_queues"].ints("time_ns").tolist() == [NULL_INT] * 2
    assert told(problems) == [("not_a_number", "sampling_interval")]


def test_a_summary_with_fewer_figures_than_operators_is_told(tmp_path: Path) -> None:
    """Whose figures they are is not known; they were taken for those of the first."""
    summary = '{"op_ids": [0, 1, 2], "queue_empty_freq_pct": [10, 20], "avg_cpu_pct": [1, 2, 3], "per_batch_time": [4]}'
    raw = RAW_HEADER + "".join(f"{number},Op,1,[],,4,,10,,[]\n" for number in range(3))
    tables, problems = read(tmp_path, (RAW, raw), (JSON, summary))
    assert told(problems) == [("unexpected_shape", "queue_empty_freq_pct")]
    ops = tables["minddata_ops"]
    assert str(ops.floats("queue_empty").tolist()) == "[nan, nan, nan]" and ops.floats("cpu").tolist() == [1, 2, 3]
    assert ops.ints("batch_ns").tolist() == [4_000_000, NULL_INT, NULL_INT]
