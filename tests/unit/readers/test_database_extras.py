"""Tables of databases that only some recordings have: marks of the user, copies, counters of the system."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.scan import MEMORY
from tb_npu_plugin.store.timeline.files import load
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import NULL_INT, Table
from tests.unit.readers.databases import TASKS, create, read, timeline_of

BASE = f"""{TASKS}
INSERT INTO STRING_IDS VALUES (1,'MEMCPY_ASYNC'),(2,'train'),(3,'default'),(4,'OTHERS'),(5,'here');
INSERT INTO TASK VALUES (2000,3000,0,7,10,77,1,4294967295,2,1,0), (4000,4100,0,8,11,77,1,4294967295,2,2,0),
                        (5000,5000,0,4000000001,12,77,2,4294967295,2,3,0);
"""
MSTX = """
CREATE TABLE ENUM_MSTX_EVENT_TYPE (id, name); INSERT INTO ENUM_MSTX_EVENT_TYPE VALUES (0,'marker'),(2,'start/end');
CREATE TABLE MSTX_EVENTS (startNs, endNs, eventType, rangeId, category, message, globalTid, endGlobalTid, domainId,
                          connectionId);
INSERT INTO MSTX_EVENTS VALUES
  (1000,6000,2,1,NULL,2,77*4294967296+5,77*4294967296+5,3,4000000001), -- a range, with a task on the device
  (1500,1500,0,2,NULL,5,77*4294967296+6,77*4294967296+6,4294967295,4294967295); -- a mark
"""
COPIES = """
CREATE TABLE ENUM_MEMCPY_OPERATION (id, name); INSERT INTO ENUM_MEMCPY_OPERATION VALUES (1,'host to device');
CREATE TABLE MEMCPY_INFO (globalTaskId, size, memcpyOperation); INSERT INTO MEMCPY_INFO VALUES (10, 4096, 1);
"""
COUNTERS = """
CREATE TABLE ACC_PMU (accId, readBwLevel, writeBwLevel, readOstLevel, writeOstLevel, timestampNs, deviceId);
INSERT INTO ACC_PMU VALUES (0,1,2,3,4,2000,0),(0,5,6,7,8,2500,0),(3,9,0,0,0,2000,0);
CREATE TABLE SOC_BANDWIDTH_LEVEL (l2BufferBwLevel, mataBwLevel, timestampNs, deviceId);
INSERT INTO SOC_BANDWIDTH_LEVEL VALUES (1,2,2000,0),(3,NULL,2500,0);
CREATE TABLE QOS (deviceId, eventName, bandwidth, timestampNs); INSERT INTO QOS VALUES (0,4,2097152,2000);
"""


def build(tmp_path: Path, content: str) -> Timeline:
    timeline, problems = timeline_of(create(tmp_path, BASE + content), tmp_path / "out")
    assert problems == []
    return timeline


def kernels_of(folder: Path) -> Table:
    return read(folder / "ascend_pytorch_profiler.db", "kernels")[0]["kernels"]


def named(timeline: Timeline, name: str) -> list[int]:
    return [one for one in range(timeline.slice_count) if timeline.names[int(timeline.name[one])] == name]


def curves(timeline: Timeline, folder: Path, process: str) -> dict[tuple[str, str], list[float]]:
    values = load(folder / "out", "counter_value")
    return {
        (track["name"], series[0]): values[series[-2] : series[-1]].tolist()
        for track in timeline.tracks
        if track["process"] == process
        for series in track["series"]
    }


#: Two devices of one process with one group, and where the database tells the device of an operator.
DEVICES = """
CREATE TABLE ENUM_API_TYPE (id, name); INSERT INTO ENUM_API_TYPE VALUES (5500,'communication');
UPDATE TASK SET deviceId=1 WHERE globalTaskId=11;
INSERT INTO STRING_IDS VALUES (30,'read'), (31,'write');
CREATE TABLE HBM (deviceId, timestampNs, bandwidth, hbmId, type);
INSERT INTO HBM VALUES (0,2000,1048576,0,30), (1,2000,3145728,0,30), (0,2500,2097152,0,30);
CREATE TABLE COMMUNICATION_TASK_INFO (globalTaskId, taskType, planeId, groupName, opId);
INSERT INTO COMMUNICATION_TASK_INFO VALUES (10, 1, 0, 3, 1), (11, 1, 0, 3, 2);
"""
OPERATIONS = {
    "of the operator": """
CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId, deviceId);
INSERT INTO COMMUNICATION_OP VALUES (2, 1900, 3100, 7, 3, 1, 0), (5, 3900, 4200, 8, 3, 2, 1);""",
    "of its tasks": """
CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId);
INSERT INTO COMMUNICATION_OP VALUES (2, 1900, 3100, 7, 3, 1), (5, 3900, 4200, 8, 3, 2);""",
}


@pytest.mark.parametrize("known", OPERATIONS)
def test_devices_of_one_process_have_communication_and_curves_of_its_own(tmp_path: Path, known: str) -> None:
    timeline = build(tmp_path, DEVICES + OPERATIONS[known])
    rows: dict[tuple[str, str], list[tuple[str, list[str]]]] = {}
    for number, track in enumerate(timeline.tracks):
        own = [one for one in range(timeline.slice_count) if timeline.place(one)[0] == number]
        slices = [timeline.brief(one)["name"] for one in own]
        rows.setdefault((track["process"], track["label"]), []).append((track["name"], slices))
    assert {key: found for key, found in rows.items() if key[0] in ("Communication", "HBM")} == {
        ("Communication", "NPU 0"): [("Group default Communication", ["train"]), ("Plane 0", ["MEMCPY_ASYNC"])],
        ("Communication", "NPU 1"): [("Group default Communication", ["here"]), ("Plane 0", ["MEMCPY_ASYNC"])],
        ("HBM", "NPU 0"): [("HBM 0/Read", [])],
        ("HBM", "NPU 1"): [("HBM 0/Read", [])],
    }
    values = load(tmp_path / "out", "counter_value")
    curves = [values[series[-2] : series[-1]].tolist() for track in timeline.tracks for series in track["series"]]
    assert curves == [[1.0, 2.0], [3.0]]
    kernels = kernels_of(tmp_path)
    assert kernels.ints("device_id").tolist() == [0, 1] and kernels.ints("wait_ns").tolist() == [0, 0]


def test_marks(tmp_path: Path) -> None:
    timeline = build(tmp_path, MSTX)
    threads = [(track["process"], track["name"]) for track in timeline.tracks if track["process"] == "mstx"]
    assert threads == [("mstx", "Thread 5"), ("mstx", "Thread 6")]
    _, span = sorted(named(timeline, "train"), key=lambda one: int(timeline.rows.dur[one]))
    (mark,) = named(timeline, "here")
    assert (int(timeline.rows.dur[span]), int(timeline.rows.dur[mark])) == (5000, 0)
    assert timeline.args(span)[0] == {"event_type": "start/end", "domain": "default"}
    assert timeline.args(mark)[0] == {"event_type": "marker", "domain": None}
    (flow,) = timeline.flows(span)
    end = flow["to"]
    assert (flow["kind"], end["start"] + timeline.base_ns, end["process"]) == ("MsTx", 5000, "Ascend Hardware")
    assert timeline.flows(mark) == []


#: Two steps on the host, 1000 to 2000 and 2000 to 3000. The first launches a kernel, an all-reduce that runs when it is
#: over on the host, and a wait for an event that ends in the second; that launches a kernel meanwhile.
STEPS = """
INSERT INTO STRING_IDS VALUES (40,'EVENT_WAIT'),(41,'KERNEL_AICORE'),(42,'first'),(43,'second'),(44,'reduce');
CREATE TABLE ENUM_API_TYPE (id, name); INSERT INTO ENUM_API_TYPE VALUES (1,'acl'),(5500,'communication');
CREATE TABLE STEP_TIME (id, startNs, endNs); INSERT INTO STEP_TIME VALUES (1,1000,2000),(2,2000,3000);
CREATE TABLE CANN_API (startNs, endNs, type, globalTid, connectionId, name);
INSERT INTO CANN_API VALUES (1100,1110,1,5,21,2),(1200,1210,1,5,22,2),(1300,1310,1,5,23,2),(2100,2110,1,5,24,2);
INSERT INTO TASK VALUES (1150,1250,0,21,30,77,41,0,2,1,0), (1350,2900,0,22,31,77,40,0,3,1,0),
                        (2600,2700,0,24,32,77,41,0,2,2,0);
CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId); INSERT INTO COMPUTE_TASK_INFO VALUES (42,30),(43,32);
CREATE TABLE COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId);
INSERT INTO COMMUNICATION_OP VALUES (44, 2300, 2500, 23, 3, 1);
"""


def test_steps_last_from_what_they_launched_first_to_what_they_launched_last(tmp_path: Path) -> None:
    build(tmp_path, STEPS)
    kernels = kernels_of(tmp_path)
    steps = dict(zip(kernels.text("name").tolist(), kernels.text("step").tolist()))
    assert steps == {"first": "1", "reduce": "1", "second": "2"}


#: The tasks of an all-reduce on the AI CPU, one of which has no row in TASK.
SCHEDULES = """
INSERT INTO STRING_IDS VALUES (60,'allreduceAicpuKernel'),(61,'AI_CPU'),(62,'cast'),(63,'AI_CORE');
CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, blockNum, taskType, opType);
INSERT INTO COMPUTE_TASK_INFO VALUES (62,10,8,63,62);
CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO (name, globalTaskId, taskType, opType);
INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO VALUES (60,11,61,60), (60,99,61,60);
"""


def test_tasks_that_schedule_communication_are_kernels_and_no_computing(tmp_path: Path) -> None:
    """Text exports list them with the kernels; msprof takes them out of computing."""
    timeline = build(tmp_path, SCHEDULES)
    tables, problems = read(tmp_path / "ascend_pytorch_profiler.db", "kernels")
    kernels = tables["kernels"]
    assert [(one.code, one.where, one.count) for one in problems if one.severity == "error"] == [
        ("unknown_task", "COMMUNICATION_SCHEDULE_TASK_INFO", 1)
    ]
    assert kernels.text("name").tolist() == ["cast", "allreduceAicpuKernel"]
    assert kernels.text("core").tolist() == ["AI_CORE", "AI_CPU"]
    assert kernels.ints("block_dim").tolist() == [8, NULL_INT]
    (computing,) = named(timeline, "Computing")
    assert int(timeline.rows.dur[computing]) == 1000
    assert len(named(timeline, "allreduceAicpuKernel")) == 1


NPU_MEMORY = """
INSERT INTO STRING_IDS VALUES (20,'app'),(21,'device');
CREATE TABLE NPU_MEM (type, ddr, hbm, timestampNs, deviceId);
INSERT INTO NPU_MEM VALUES (20,0,4096,2000,0),(20,0,8192,2500,0),(21,0,99999,2000,0);
"""


@pytest.mark.parametrize(("asked", "there"), [(True, True), (None, True), (False, False)])
def test_the_memory_of_the_process_alone(tmp_path: Path, asked: bool | None, there: bool) -> None:
    """It is sampled for the timeline as well: without memory profiling it is no memory record."""
    build(tmp_path, NPU_MEMORY)
    log = ProblemLog()
    reader = READERS["torch_npu"]
    path = tmp_path / "ascend_pytorch_profiler.db"
    tables = reader.tables(Reading(path, path.name, log))
    switches = {} if asked is None else {"profile_memory": asked}
    tables = reader.finish(tables, Capture(switches=switches), log)
    assert log.list() == [] and ("memory_record" in tables) is there
    if there:
        record = tables["memory_record"]
        assert record.text("component").tolist() == ["APP", "APP"]
        assert record.ints("reserved_bytes").tolist() == [4096, 8192]
        assert (record.ints("allocated_bytes") < 0).all() and record.text("device").tolist() == ["NPU:0"] * 2


def test_copies(tmp_path: Path) -> None:
    timeline = build(tmp_path, COPIES)
    first, second = (timeline.args(one)[0] or {} for one in named(timeline, "MEMCPY_ASYNC"))
    found: dict[str, Any] = {"size(B)": 4096, "bandwidth(GB/s)": 4.096, "operation": "host to device"}
    assert {key: first[key] for key in found} == found
    assert not found.keys() & second.keys()
    assert first.keys() - found.keys() == second.keys()


KERNELS = """
UPDATE TASK SET taskType=4;
INSERT INTO STRING_IDS VALUES (50,'"1,2"'), (51,'"'), (52,'GM_to_UB_datas'), (53,'aten::first');
CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, inputShapes, outputShapes);
INSERT INTO COMPUTE_TASK_INFO VALUES (2,10,50,51);
CREATE TABLE TASK_PMU_INFO (globalTaskId, name, value); INSERT INTO TASK_PMU_INFO VALUES (10,52,1.5);
CREATE TABLE ENUM_API_TYPE (id, name); INSERT INTO ENUM_API_TYPE VALUES (50001,'op');
CREATE TABLE CONNECTION_IDS (id, connectionId); INSERT INTO CONNECTION_IDS VALUES (1,7);
CREATE TABLE PYTORCH_API (startNs, endNs, globalTid, connectionId, name, type);
INSERT INTO PYTORCH_API VALUES (1000,1500,77*4294967296+5,1,53,50001);
"""


def test_the_first_operator_has_an_arrow_to_its_kernel(tmp_path: Path) -> None:
    timeline = build(tmp_path, KERNELS)
    (operator,) = named(timeline, "aten::first")
    assert [timeline.brief(flow["to"]["id"])["name"] for flow in timeline.flows(operator)] == ["train"]


def test_cells_of_kernels_are_those_of_text_exports(tmp_path: Path) -> None:
    """KiB become bytes, a pair of quotation marks is removed; one alone is no pair."""
    build(tmp_path, KERNELS)
    kernels = kernels_of(tmp_path)
    assert kernels.ints("gm_to_ub_datas").tolist() == [1536]
    assert [kernels.text(f"{side}_shapes")[0] for side in ("input", "output")] == ["1,2", '"']


def test_counters(tmp_path: Path) -> None:
    timeline = build(tmp_path, COUNTERS)
    found = curves(timeline, tmp_path, "Acc PMU")
    assert len(found) == 8
    assert sorted(values for (name, _), values in found.items() if name == "read_bandwidth") == [[1, 5], [9]]
    assert sorted(values for (name, _), values in found.items() if name == "write_ost") == [[0], [4, 8]]
    soc = {name: values for (name, _), values in curves(timeline, tmp_path, "Stars Soc Info").items()}
    assert soc == {"L2 Buffer Bw Level": [1, 3], "Mata Bw Level": [2]}
    assert list(curves(timeline, tmp_path, "QoS").values()) == [[2.0]]


@pytest.mark.parametrize("kind", ["tables", "trace"])
def test_progress_is_reported_while_rows_are_read_and_sums_to_the_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ascend_pytorch_profiler.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(BASE + "CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId);")
        connection.execute("INSERT INTO COMPUTE_TASK_INFO VALUES (2, 20000)")
        tasks = [(n * 10, n * 10 + 5, n, n) for n in range(20_000, 60_000)]
        connection.executemany("INSERT INTO TASK VALUES (?,?,0,?,?,77,1,0,2,1,0)", tasks)
        connection.commit()
    reported: list[int] = []
    if kind == "tables":
        read_database(Reading(path, path.name, ProblemLog(), reported.append), {"kernels"})
    else:
        READERS["torch_npu"].scan(path, ProblemLog(), reported.append, MEMORY)
    assert len(reported) > 8 and min(reported) > 0
    assert sum(reported) == path.stat().st_size
