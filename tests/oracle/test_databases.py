"""Databases that the mock writes agree with themselves and with the text files of the same run.

Source: docs/facts/ascend_pt.md, Invariants, 15 and 16; docs/facts/databases.md, Joins. Nothing of tb_npu_plugin reads here.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.copies import copies_by_operator
from tests.oracle.raw import Raw
from tests.support.mock import RUNS, at_rest, queued, run

BOTH = [
    pytest.param(folder, id=f"{name}/{folder.name.split('_')[1]}")
    for name in RUNS
    if name.startswith("both_")
    for folder in sorted(run(name)[0].glob("*_ascend_pt"))
]


def both(*files: str) -> list[Any]:
    """Those whose text has these files."""
    found = [param for param in BOTH if Raw(param.values[0]).has(*files)]
    assert found, files
    return found


DEVICE, HOST, MEMORY = both("kernel_details.csv"), both("operator_details.csv"), both("memory_record.csv")
STEPS = at_rest(both("kernel_details.csv", "operator_details.csv"))
COMMUNICATION = both("communication.json")
#: With the rank in its name where that is known.
PROFILER_DB = "ascend_pytorch_profiler*.db"
#: File of the text -> the tables that hold the same; each is there where the other is.
TABLES_OF = {
    "kernel_details.csv": {"TASK", "COMPUTE_TASK_INFO", "CANN_API"},
    "communication.json": {"COMMUNICATION_TASK_INFO"},
    "memory_record.csv": {"MEMORY_RECORD"},
    "operator_memory.csv": {"OP_MEMORY"},
    "npu_module_mem.csv": {"NPU_MODULE_MEM", "NPU_MEM"},
    "nic.csv": {"NIC"},
    "roce.csv": {"ROCE"},
    "pcie.csv": {"PCIE"},
    "hccs.csv": {"HCCS"},
}
#: Process of the trace -> the table that holds the same.
COUNTERS = {
    "AI Core Freq": "AICORE_FREQ",
    "HBM": "HBM",
    "LLC": "LLC",
    "NPU MEM": "NPU_MEM",
    "NIC": "NIC",
    "RoCE": "ROCE",
    "PCIe": "PCIE",
    "HCCS": "HCCS",
}
#: Chips whose cores are not split: they have no vector cores.
UNIFIED = ("Ascend910A", "Ascend310P")


def query(folder: Path, sql: str, database: str = PROFILER_DB) -> list[Any]:
    (path,) = (folder / "ASCEND_PROFILER_OUTPUT").glob(database)
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def analysis(folder: Path, sql: str) -> list[Any]:
    return query(folder, sql, "analysis.db")


def tables(folder: Path, database: str = PROFILER_DB) -> set[str]:
    return {name for (name,) in query(folder, "SELECT name FROM sqlite_master WHERE type='table'", database)}


def ns(text: str) -> int:
    return int(Decimal(text) * 1000)


@pytest.mark.parametrize("folder", BOTH)
def test_tables_are_there_where_their_files_are(folder: Path) -> None:
    raw, found = Raw(folder), tables(folder)
    for file, names in TABLES_OF.items():
        assert names & found == (names if raw.has(file) else set()), file
    counted_in = {raw.processes[event["pid"]] for event in raw.events if event["ph"] == "C"}
    assert {table for name, table in COUNTERS.items() if name in counted_in} == found & set(COUNTERS.values())
    assert (folder / "ASCEND_PROFILER_OUTPUT" / "analysis.db").exists() == raw.has("step_trace_time.csv")
    if raw.has("step_trace_time.csv"):
        more = (
            {"CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"}
            if raw.has("communication.json")
            else set()
        )
        assert tables(folder, "analysis.db") == {"StepTraceTime"} | more
    assert ("STEP_TIME" in found) == bool(raw.steps)
    assert ("PYTORCH_API" in found) == any(event.get("cat") == "cpu_op" for event in raw.slices)
    counted = raw.has("kernel_details.csv") and "aicore_time(us)" in raw.kernels[0]
    assert ("TASK_PMU_INFO" in found) == counted
    text = raw.path("trace_view.json").read_text()
    assert ("GC_RECORD" in found) == ('"Python GC"' in text)
    assert ("PYTORCH_CALLCHAINS" in found) == ('"Call stack"' in text)


@pytest.mark.parametrize("folder", STEPS)
def test_15_step_trace_follows_from_the_tasks(folder: Path) -> None:
    kernels = query(folder, "SELECT startNs,endNs FROM TASK JOIN COMPUTE_TASK_INFO USING(globalTaskId) ORDER BY 1")
    marks = (
        "STEP_TIME"
        if "STEP_TIME" in tables(folder)
        else "(SELECT MIN(startNs) AS startNs FROM PYTORCH_API WHERE type IN (50001,50004))"
    )
    steps = query(folder, f"SELECT CAST(startNs AS INTEGER) FROM {marks} ORDER BY 1")
    rows = analysis(folder, "SELECT computing,free,stage,preparing FROM StepTraceTime")
    assert len(rows) == len(steps)
    has = "COMMUNICATION_OP" in tables(folder)
    comm = query(folder, "SELECT startNs,endNs FROM COMMUNICATION_OP") if has else []
    bounds = [start for (start,) in steps] + [1 << 62]
    for (computing, free, _, preparing), start, end in zip(rows, bounds, bounds[1:]):
        mine = [span for span in kernels if start <= span[0] < end]
        busy = sorted([*mine, *(span for span in comm if start <= span[0] < end)])
        assert computing * 1000 == pytest.approx(_union(mine), abs=0.1)
        assert preparing * 1000 == pytest.approx(busy[0][0] - start, abs=0.1)
        gaps = max(stop for _, stop in busy) - busy[0][0] - _union(busy)
        # the pause up to the next step is free time, too
        later = [span[0] for span in (*kernels, *comm) if span[0] >= end]
        gaps += min(later) - max(stop for _, stop in busy) if later else 0
        assert free * 1000 == pytest.approx(gaps, abs=0.1)


def _union(spans: list[tuple[int, int]]) -> int:
    total = reached = 0
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


@pytest.mark.parametrize("folder", COMMUNICATION)
def test_15_communication_of_both_databases_agrees(folder: Path) -> None:
    ops = query(folder, "SELECT value,startNs,endNs,opId FROM COMMUNICATION_OP JOIN STRING_IDS ON opName=id")
    elapsed = dict(analysis(folder, "SELECT hccl_op_name||start_timestamp,elapse_time FROM CommAnalyzerTime"))
    assert len(ops) == len(elapsed)
    by_name = Counter((name, end - start) for name, start, end, _ in ops)
    found = analysis(folder, "SELECT hccl_op_name,elapse_time FROM CommAnalyzerTime")
    assert by_name == Counter((name, round(ms * 1e6)) for name, ms in found)
    for _, start, end, op in ops:
        tasks = query(
            folder, f"SELECT startNs,endNs FROM TASK JOIN COMMUNICATION_TASK_INFO USING(globalTaskId) WHERE opId={op}"
        )
        assert (min(task[0] for task in tasks), max(task[1] for task in tasks)) == (start, end)


@pytest.mark.parametrize("folder", DEVICE)
def test_15_every_task_was_launched_by_a_call(folder: Path) -> None:
    orphans = query(
        folder,
        "SELECT COUNT(*) FROM TASK JOIN STRING_IDS ON taskType=id WHERE value<>'MsTx' "
        "AND connectionId NOT IN (SELECT connectionId FROM CANN_API)",
    )
    assert orphans == [(0,)]
    assert query(folder, "SELECT COUNT(*)=COUNT(DISTINCT globalTaskId) FROM TASK") == [(1,)]


@pytest.mark.parametrize("folder", DEVICE)
def test_15_kernels_are_those_of_the_text(folder: Path) -> None:
    sql = """SELECT n.value, t.startNs, t.endNs-t.startNs, y.value, c.value FROM COMPUTE_TASK_INFO i
             JOIN TASK t USING(globalTaskId) JOIN STRING_IDS n ON n.id=i.name JOIN STRING_IDS y ON y.id=i.opType
             JOIN STRING_IDS c ON c.id=i.taskType ORDER BY 2"""
    shown = [
        (row["Name"], ns(row["Start Time(us)"]), ns(row["Duration(us)"]), row["Type"], row["Accelerator Core"])
        for row in Raw(folder).computing
    ]
    assert query(folder, sql) == shown
    kinds = {kind for (kind,) in query(folder, "SELECT DISTINCT value FROM TASK JOIN STRING_IDS ON taskType=id")}
    ((chip,),) = query(folder, "SELECT name FROM NPU_INFO")
    vector = set() if chip.startswith(UNIFIED) else {"KERNEL_AIVEC"}
    assert kinds & {"KERNEL_AICORE", "KERNEL_AIVEC"} == {"KERNEL_AICORE"} | vector  # known even at level 0


@pytest.mark.parametrize("folder", HOST)
def test_operators_and_their_device_time_are_those_of_the_text(folder: Path) -> None:
    """The recipe of section 7, which links no copies, and the way of the text to these."""
    comm = "UNION ALL SELECT connectionId,startNs,endNs FROM COMMUNICATION_OP" * ("COMMUNICATION_OP" in tables(folder))
    sql = f"""WITH dev AS (SELECT t.connectionId c,t.startNs s,t.endNs e FROM TASK t JOIN COMPUTE_TASK_INFO
                           USING(globalTaskId) {comm})
              SELECT a.rowid,SUM(d.e-d.s) FROM PYTORCH_API a JOIN CONNECTION_IDS x ON x.id=a.connectionId
              JOIN dev d ON d.c=x.connectionId WHERE a.type=50001 GROUP BY 1"""
    linked = dict(query(folder, sql)) if "TASK" in tables(folder) else {}
    copies = copies_by_operator(lambda sql: query(folder, sql))
    ops = query(
        folder,
        "SELECT a.rowid,value,CAST(endNs AS INTEGER)-CAST(startNs AS INTEGER) FROM PYTORCH_API a "
        "JOIN STRING_IDS ON name=id WHERE type IN (50001,50004) ORDER BY CAST(startNs AS INTEGER),a.rowid",
    )
    shown = Raw(folder).csv("operator_details.csv")
    ops = [op for op in ops if not op[1].startswith("ProfilerStep#")]
    assert [(name, dur) for _, name, dur in ops] == [(row["Name"], ns(row["Host Total Duration(us)"])) for row in shown]
    for (rowid, name, _), row in zip(ops, shown):
        assert linked.get(rowid, 0) + copies[rowid] == ns(row["Device Self Duration(us)"]), name


def _activities(folder: Path) -> list[str]:
    (info,) = folder.glob("profiler_info*.json")
    found: list[str] = json.loads(info.read_text())["config"]["common_config"]["activities"]
    return found


@pytest.mark.parametrize("folder", HOST)
def test_queue_elements_and_backward_links_come_in_pairs(folder: Path) -> None:
    sql = """SELECT COUNT(*),MIN(a.type),MAX(a.type) FROM PYTORCH_API a JOIN CONNECTION_IDS x ON x.id=a.connectionId
             {launches} GROUP BY x.connectionId,a.type"""
    launches = "WHERE x.connectionId NOT IN (SELECT connectionId FROM CANN_API)" * ("CANN_API" in tables(folder))
    counts = Counter(query(folder, sql.format(launches=launches)))
    raw = Raw(folder)
    enqueues = "ProfilerActivity.NPU" in _activities(folder) and queued(folder)
    queue = {(2, 50002, 50002)} if enqueues else set()
    assert set(counts) == {(2, 50001, 50001)} | queue
    flows = Counter(event["cat"] for event in raw.events if event["ph"] == "s")
    assert counts[2, 50002, 50002] == flows["async_task_queue"]
    assert counts[2, 50001, 50001] == flows["fwdbwd"]


@pytest.mark.parametrize("folder", DEVICE)
def test_16_step_trace_of_database_and_text_agree(folder: Path) -> None:
    names = (
        "computing",
        "communication_not_overlapped",
        "overlapped",
        "communication",
        "free",
        "stage",
        "bubble",
        "communication_not_overlapped_and_exclude_receive",
        "preparing",
    )
    rows = analysis(folder, f"SELECT deviceId,step,{','.join(names)} FROM StepTraceTime")
    text = Raw(folder).csv("step_trace_time.csv")
    assert len(rows) == len(text)
    for row, shown in zip(rows, text):
        assert (str(row[0]), row[1]) == (shown["Device_id"], shown["Step"])
        for name, value, cell in zip(names, row[2:], list(shown.values())[2:]):
            assert value == pytest.approx(float(cell), abs=0.26 if name in ("stage", "preparing") else 1e-6), name


@pytest.mark.parametrize("folder", MEMORY)
def test_memory_is_that_of_the_text(folder: Path) -> None:
    raw = Raw(folder)
    sql = """SELECT value,timestamp,totalAllocated,totalReserved FROM MEMORY_RECORD JOIN STRING_IDS ON component=id"""
    shown = [
        (
            row["Component"],
            ns(row["Timestamp(us)"]),
            int(float(row["Total Allocated(MB)"]) * 1048576),
            int(float(row["Total Reserved(MB)"]) * 1048576),
        )
        for row in raw.csv("memory_record.csv")
        if row["Component"] != "APP"
    ]
    assert sorted(query(folder, sql)) == sorted(shown)
    sql = "SELECT value,o.id0,size,allocationTime,releaseTime FROM (SELECT *,name AS id0 FROM OP_MEMORY) o JOIN STRING_IDS s ON s.id=o.name"
    found = query(folder, sql) if "OP_MEMORY" in tables(folder) else []
    blocks = [("cann::" * (id_ < 1 << 28) + name, size, at, end) for name, id_, size, at, end in found]
    shown_blocks = [
        (
            row["Name"],
            int(float(row["Size(KB)"]) * 1024),
            ns(row["Allocation Time(us)"]),
            ns(row["Release Time(us)"]) if row["Release Time(us)"] else None,
        )
        for row in (raw.csv("operator_memory.csv") if raw.has("operator_memory.csv") else ())
    ]
    assert sorted(blocks, key=str) == sorted(shown_blocks, key=str)


@pytest.mark.parametrize("folder", HOST)
def test_strings_have_the_ranges_of_who_wrote_them(folder: Path) -> None:
    def ids(table: str, column: str) -> set[int]:
        return {id_ for (id_,) in query(folder, f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")}

    cann, torch = {"CANN_API": "name", "TASK": "taskType"}, {"PYTORCH_API": "name", "PYTORCH_CALLCHAINS": "stack"}
    for columns, first, last in ((cann, 0, 1 << 28), (torch, 1 << 28, 2 << 28)):
        for table in columns.keys() & tables(folder):
            assert all(first <= id_ < last for id_ in ids(table, columns[table]))
    missing = "SELECT COUNT(*) FROM PYTORCH_API WHERE name NOT IN (SELECT id FROM STRING_IDS)"
    assert query(folder, missing) == [(0,)]
    assert query(folder, "SELECT DISTINCT typeof(startNs) FROM PYTORCH_API") == [("text",)]


def test_level_0_has_no_counters_and_no_communication() -> None:
    (folder,) = run("both_level0")[0].glob("*_ascend_pt")
    assert "TASK_PMU_INFO" not in tables(folder) and "CANN_API" in tables(folder)
    assert tables(folder, "analysis.db") == {"StepTraceTime"}
    (other,) = run("both_level2")[0].glob("*_ascend_pt")
    assert "TASK_PMU_INFO" in tables(other)
    types = query(
        other, "SELECT DISTINCT name FROM CANN_API JOIN ENUM_API_TYPE e ON e.id=type".replace(" name ", " e.name ")
    )
    assert ("runtime",) in types


@pytest.mark.parametrize("folder", DEVICE)
def test_counters_are_those_of_the_text_in_ns(folder: Path) -> None:
    """But for the use of the cube, which the database does not hold."""
    sql = """SELECT t.startNs, v.value, p.value FROM TASK_PMU_INFO p JOIN TASK t USING(globalTaskId)
             JOIN STRING_IDS v ON v.id=p.name"""
    shown = {}
    for row in Raw(folder).computing:
        for header, cell in list(row.items())[list(row).index("Context ID") + 1 if "Context ID" in row else len(row) :]:
            if cell != "N/A" and header != "cube_utilization(%)":
                name = {"aicore_time(us)": "aic_total_time", "aiv_time(us)": "aiv_total_time"}.get(header, header)
                key = ns(row["Start Time(us)"]), name.split("(")[0]
                shown[key] = float(cell) * (1000 if header.endswith("(us)") else 1)
    rows = query(folder, sql) if "TASK_PMU_INFO" in tables(folder) else []
    assert {(start, name): value for start, name, value in rows} == pytest.approx(shown, abs=1e-6)


def test_a_database_export_alone_has_no_text() -> None:
    (folder,) = run("db_only")[0].glob("*_ascend_pt")
    names = {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert names == {"ascend_pytorch_profiler_0.db", "analysis.db"}
    metadata = dict(query(folder, "SELECT name,value FROM META_DATA"))
    assert metadata["SCHEMA_VERSION"] == "1.0.0" and json.loads(metadata["tb_npu_simulated"]) is True
    assert "ENV_VARIABLES" in metadata
    assert "ENV_VARIABLES" not in json.loads((folder / "profiler_metadata.json").read_text())
    info = json.loads((folder / "profiler_info_0.json").read_text())
    assert info["config"]["experimental_config"]["_export_type"] == ["db"]
