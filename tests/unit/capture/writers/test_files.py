"""Files of a result: which there are, and what few other files tell of them.
Source: docs/facts/ascend_pt.md, Files and when they are written."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.capture.models.catalog import Sizes
from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.simulation import host
from tb_npu_plugin.capture.simulation.chips import DEFAULT_CHIP
from tb_npu_plugin.capture.simulation.device import COPIES
from tb_npu_plugin.capture.simulation.records import HostOp, Kernel, OpInfo, Process, Segment, Step, Task
from tb_npu_plugin.capture.writers.files import CsvFile, Output, cell, mb_text, shapes_cell, time_text, us_text
from tb_npu_plugin.capture.writers.framework import Files
from tb_npu_plugin.capture.writers.options import Options
from tb_npu_plugin.capture.writers.result import TORCH
from tb_npu_plugin.schema.chips import CHIPS
from tb_npu_plugin.schema.dialects import NEW
from tests.oracle.raw import Raw
from tests.support.invariants import query
from tests.support.mock import LEVELS, SWITCHES, rank_folder, run, switched, written

KERNELS = {"kernel_details.csv", "step_trace_time.csv", "task_time.csv"}
LEVEL_1 = {"op_statistic.csv", "api_statistic.csv", "communication.json", "communication_matrix.json"}
MEMORY = {"operator_memory.csv", "memory_record.csv"}
T = 1_700_000_000_000_000_000
OP = HostOp(OpInfo("aten::op"), 1, T, T + 9)


def files_of(level: int, switch: str) -> set[str]:
    """Of a run that communicates and has kernels on the AI CPU."""
    device = switch != "cpu_only" and level >= 0
    found = {"trace_view.json", "ascend_pytorch_profiler_1.db"}
    found |= {"operator_details.csv"} if switch != "npu_only" else set()
    found |= MEMORY | ({"npu_module_mem.csv"} if device else set()) if switch != "no_memory" else set()
    found |= KERNELS | {"analysis.db"} if device else set()
    found |= {"l2_cache.csv"} if device and switch == "l2_cache" else set()
    found |= LEVEL_1 if device and level >= 1 else set()
    return found | ({"data_preprocess.csv"} if device and level >= 2 else set())


@pytest.mark.parametrize(
    ("level", "switch"), [*((level, "plain") for level in LEVELS), *(("level2", switch) for switch in SWITCHES)]
)
def test_level_and_switches_decide_which_files_there_are(level: str, switch: str) -> None:
    (folder,) = run(switched(level, switch))[0].glob("*_ascend_pt")
    assert {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()} == files_of(LEVELS[level], switch)


def test_rows_that_do_not_fit_the_header_are_refused(tmp_path: Path) -> None:
    file = CsvFile(tmp_path / "a.csv", ["x", "y"], "\n")
    file.add(['"1,""2,3""",4', '5,""'])
    file.add(['"' + 150_000 * "x" + '",1'])
    for add in (file.add, partial(file.add, part="")):
        with pytest.raises(ValueError, match="1 cells under 2 headers"):
            add(["1"])


def test_metadata_say_that_it_is_simulated_and_name_the_groups_of_a_rank() -> None:
    content = json.loads((rank_folder(run("cluster")[0], 3) / "profiler_metadata.json").read_text())
    found = {
        info["group_name"]: (info["group_rank"], info["global_ranks"])
        for info in content["parallel_group_info"].values()
    }
    assert content["tb_npu_simulated"] is True
    # 8 ranks, tp 2, pp 2, dp 2: rank 3 is the second of tp and dp in the first stage
    assert found["default_group"][1] == list(range(8))
    assert (found["tp"], found["dp"], found["pp"]) == ((1, [2, 3]), (1, [1, 3]), (0, [3, 7]))
    assert content["distributed_args"]["tensor_model_parallel_size"] == 2


def test_copies_show_their_direction_at_level_2() -> None:
    (folder,) = run("both_level2")[0].glob("*_ascend_pt")
    copies = [event["args"] for event in Raw(folder).slices if event["name"] == "MEMCPY_ASYNC"]
    found = {(args["Task Type"], args["memcpy direction"]) for args in copies}
    assert found == {("PCIE_DMA_SQE", "host to device"), ("SDMA_SQE", "device to host")}


def test_tasks_without_a_kernel_have_a_type_and_no_name() -> None:
    (folder,) = run("both_level2")[0].glob("*_ascend_pt")
    listed = list(csv.DictReader(Raw(folder).content("task_time.csv").decode().splitlines()))
    unnamed = {row["kernel_type"] for row in listed if row["kernel_name"] == "N/A"}
    assert "MEMCPY_ASYNC" in unnamed and not any(kind.endswith("CORE") for kind in unnamed)
    assert not any(row["kernel_name"] == row["kernel_type"] for row in listed)


def test_level_0_prunes_the_calls_of_cann() -> None:
    text = Raw(rank_folder(run("cluster_level0")[0], 1)).content("trace_view.json").decode()
    assert not [name for name in ("AscendCL@", "Node@", "Notify_Wait") if name in text]
    assert '"HostToDevice"' in text


def process(rank: int = 0) -> Process:
    return Process(7, 3, rank, 1, T, T + 50_000, chip=CHIPS[DEFAULT_CHIP])


@pytest.mark.parametrize(("numbered", "file", "rank"), [(True, "_5.db", 5), (False, ".db", -1)])
def test_an_unknown_rank_is_minus_one(tmp_path: Path, numbered: bool, file: str, rank: int) -> None:
    Files(Output(tmp_path, process(5), Options(export=("db",)), NEW, numbered), TORCH).close()
    assert rows(tmp_path / f"ascend_pytorch_profiler{file}", "SELECT rankId, deviceId FROM RANK_DEVICE_MAP") == [
        (rank, 3)
    ]


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def task(kernel: Kernel, start: int, dur: int, acl: int, connection: int) -> Task:
    return Task(kernel, T + start, dur, 2, connection, connection, T + acl, 1, OP)


def test_a_step_that_only_copies(tmp_path: Path) -> None:
    """Beside a kernel that ends behind the step before it."""
    kernel = Kernel("k", "K", "AI_CORE", "AI_CORE")
    tasks = [
        task(kernel, 8_000, 12_000, 5_000, 1),
        task(COPIES[False], 12_000, 9_000, 11_000, 2),
        task(kernel, 35_000, 1_000, 31_000, 3),
    ]
    files = Files(Output(tmp_path, process(), Options(export=("text", "db")), NEW), TORCH)
    for number, (one, start, end) in enumerate(zip(tasks, (0, 10_000, 30_000), (10_000, 30_000, 50_000)), start=1):
        files.add(Segment(Step(number, T + start, T + end), T + end, tasks=[one]))
    files.close()
    with (tmp_path / "step_trace_time.csv").open(newline="") as file:
        found = [(row["Step"], float(row["Free"]), float(row["Preparing"])) for row in csv.DictReader(file)]
    assert found == [("1", 0, 8), ("2", 15, 0), ("3", 0, 5)]
    assert rows(tmp_path / "analysis.db", "SELECT step, free, preparing FROM StepTraceTime") == found


def test_tasks_of_communication_lie_on_the_stream_of_their_group_at_each_level() -> None:
    """Trace and database alike. Of four ranks the first three waits are for the next three, in order."""
    recipe = Recipe("tiny", 4, tp=4, steps=1, sizes=Sizes(layers=1), only=(1,))
    on_streams = []
    for level in (0, 1):
        options = Options(level, export=("text", "db"))
        folder = rank_folder(written(replace(recipe, options=options))[0], 1)
        tasks = query(
            folder,
            "SELECT t.streamId, o.connectionId, t.contextId, s.value, t.startNs, t.endNs - t.startNs, i.dstRank "
            "FROM COMMUNICATION_TASK_INFO i JOIN TASK t USING (globalTaskId) JOIN COMMUNICATION_OP o USING (opId) "
            "JOIN STRING_IDS s ON s.id = t.taskType ORDER BY 1, 2, 3",
        )
        raw, keys = Raw(folder), ("Physic Stream Id", "connection_id", "Subtask Id", "Task Type")
        kinds, connections = {task[3] for task in tasks}, {task[1] for task in tasks}
        found = [
            (*(event["args"][key] for key in keys), int(event["ts"] * 1000), int(event["dur"] * 1000))
            for event in raw.events
            if event["ph"] == "X"
            and event.get("args", {}).get("connection_id") in connections
            and event["name"] in kinds
        ]
        assert kinds == {"Notify Wait", "Write Value", "SDMA"}
        assert sorted(found) == [task[:6] for task in tasks]
        assert len({task[0] for task in tasks}) == 1
        on_streams.append(found)
    assert on_streams[0] == on_streams[1]
    for connection in connections:
        waits = [task[6] for task in tasks if task[1] == connection and task[3] == "Notify Wait"]
        assert waits[:3] == [2, 3, 0]


def test_tasks_of_communication_have_times_but_no_kinds_at_level_0() -> None:
    folder = rank_folder(run("both_mstx_level0")[0], 1)
    sql = """SELECT c.startNs=MIN(t.startNs) AND c.endNs=MAX(t.endNs), kind.value, i.planeId, i.groupName=c.groupName, i.size,
             i.srcRank, i.dstRank, i.transportType, i.dataType, i.linkType, i.rdmaType
             FROM COMMUNICATION_OP c JOIN COMMUNICATION_TASK_INFO i USING(opId) JOIN TASK t USING(globalTaskId)
             JOIN STRING_IDS kind ON i.taskType=kind.id GROUP BY opId"""
    none, no_rank = 65534, 4294967295
    assert set(query(folder, sql)) == {(1, "N/A", -1, 1, -1, no_rank, no_rank, none, none, none, none)}


def test_numbers_of_tasks_come_again_in_the_next_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have 16 bits in CANN, in each stream."""
    last = (1 << 16) - 1
    monkeypatch.setattr(host, "FIRST_TASK", last - 5)
    write_run(Recipe("linear", steps=2), tmp_path, jobs=1)
    raw = Raw(next(tmp_path.glob("*_ascend_pt")))
    numbers = [int(row["Task ID"]) for row in raw.csv("kernel_details.csv") if row["Stream ID"] == "2"]
    assert {0, last} <= set(numbers) and max(numbers) == last
    arrivals = {
        (event["pid"], event["tid"], event["ts"]): int(event["id"])
        for event in raw.events
        if event.get("cat") == "HostToDevice" and event["ph"] == "f"
    }
    batches = set()
    for event in raw.slices:
        args = event.get("args", {})
        if "Batch Id" in args and args["Task Type"] not in ("PCIE_DMA_SQE", "SDMA_SQE", "EVENT_WAIT_SQE"):
            id_ = arrivals[event["pid"], event["tid"], event["ts"]]
            stream, number, batch = id_ >> 64, id_ >> 48 & last, id_ >> 32 & last
            assert (stream, number, batch) == (args["Physic Stream Id"], args["Task Id"], args["Batch Id"])
            batches.add((stream, batch))
    assert batches == {(2, 0), (2, 1), (3, 0)}


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00")))
def test_a_cell_reads_back(text: str) -> None:
    assert next(csv.reader(io.StringIO(f"{cell(text)},next\r\n", newline=""))) == [text, "next"]


def test_figures_and_shapes() -> None:
    assert (time_text(None), time_text(10**18 + 5)) == ("", "1000000000000000.005\t")
    assert (mb_text(None), us_text(0), us_text(1500)) == ("", "0", "1.5")
    assert (shapes_cell(""), shapes_cell("2,3;4")) == ("N/A", '"""2,3;4"""')
