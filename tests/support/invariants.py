"""What holds between the files of one result. Shares no code with the package.
Source: docs/facts/ascend_pt.md, Invariants; docs/facts/databases.md, Joins."""

from __future__ import annotations

import json
import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.operator_tree import operators
from tests.oracle.raw import Raw, number

Check = Callable[[Raw], None]
Spans = list[tuple[Any, Any]]
TRACE, STEPS, KERNELS = "trace_view.json", "step_trace_time.csv", "kernel_details.csv"
OPERATORS, COMMUNICATION = "operator_details.csv", "communication.json"
#: The name holds the rank where it is known.
DATABASE = "ascend_pytorch_profiler*.db"
#: Checks that MindSpore's files pass, too, by the name of the function.
MINDSPORE: set[str] = set()
#: Checks that need the device at rest when a step ends: otherwise rows begin in one step on the host and belong to another.
AT_REST: set[str] = set()
#: (numbers of the invariants, files that they are about, function)
CHECKS: list[tuple[set[str], tuple[str, ...], Check]] = []


def invariant(numbers: str, *files: str, mindspore: bool = False, at_rest: bool = False) -> Callable[[Check], Check]:
    """Register a check of the invariants with these numbers."""

    def register(check: Check) -> Check:
        CHECKS.append((set(numbers.split()), files, check))
        MINDSPORE.update({check.__name__} if mindspore else ())
        AT_REST.update({check.__name__} if at_rest else ())
        return check

    return register


def check_all(folder: Path, synced: bool = True, only: set[str] | None = None) -> set[str]:
    """Check every invariant whose files exist and list all violations. Returns the numbers of those that were checked.

    Args:
        folder: a result folder with text, databases or both.
        synced: the device was at rest when each step ended.
        only: the numbers of the invariants to check; all without.
    """
    raw, checked, violations = Raw(folder), set(), []
    for numbers, files, check in CHECKS:
        applies = (synced or check.__name__ not in AT_REST) and (only is None or bool(only & numbers))
        if folder.name.endswith("_ascend_ms"):
            applies = applies and check.__name__ in MINDSPORE
        if applies and all(raw.has(file) or any(raw.output.glob(file)) for file in files):
            checked |= numbers
            try:
                check(raw)
            except AssertionError as problem:
                violations.append(f"{check.__name__}: {problem}")
    assert not violations, "\n".join([str(folder), *violations])
    return checked


def check(folder: Path) -> None:
    """Check a result that has text and databases and communicates."""
    assert check_all(folder) >= {f"{number:02}" for number in range(1, 17)} - {"10"}


def query(folder: Path, sql: str, database: str = DATABASE) -> list[Any]:
    """Rows of a database of the result."""
    (path,) = Raw(folder).output.glob(database)
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def tables(folder: Path, database: str = DATABASE) -> set[str]:
    """Names of the tables of a database."""
    return {name for (name,) in query(folder, "SELECT name FROM sqlite_master WHERE type='table'", database)}


def has_task_queue(folder: Path) -> bool:
    """False for a run named after TASK_QUEUE_ENABLE=0."""
    return "task_queue_0" not in folder.parent.name


def union(spans: Spans) -> Any:
    """Length of the union of (start, end)."""
    total, reached = Decimal(0), Decimal("-Infinity")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


def _spans(rows: list[dict[str, str]]) -> Spans:
    starts = [(Decimal(row["Start Time(us)"]), Decimal(row["Duration(us)"])) for row in rows]
    return [(start, start + dur) for start, dur in starts]


# -- text -------------------------------------------------------------------------------------------
PARTS = ("Computing", "Communication(Not Overlapped)", "Free")


@invariant("01 02 03 04", STEPS, TRACE, at_rest=True)
def steps_follow_from_the_overlap_rows(raw: Raw) -> None:
    assert len(raw.csv(STEPS)) == max(len(raw.steps), 1)
    begun = {name: start for name, start, _ in raw.steps}
    for row in raw.csv(STEPS):
        figures = {name: float(cell) for name, cell in row.items() if name not in ("Device_id", "Step")}
        alone, stage = figures["Communication(Not Overlapped)"], figures["Stage"] + figures["Bubble"]
        assert figures["Communication"] == pytest.approx(alone + figures["Overlapped"], abs=1e-9)
        assert figures["Communication(Not Overlapped and Exclude Receive)"] == max(alone - figures["Bubble"], 0)
        found = raw.overlap(row["Step"])
        for name in (*PARTS, "Communication"):
            assert sum((float(event["dur"]) for event in found[name]), 0.0) == figures[name], (row["Step"], name)
        tiles = [event["dur"] for name in PARTS for event in found[name]]
        ends = [(event["ts"], event["ts"] + event["dur"]) for events in found.values() for event in events]
        assert not raw.exact_ts or sum(tiles) == max(end for _, end in ends) - min(start for start, _ in ends)
        assert stage == pytest.approx(float(sum(tiles)), abs=0.5)
        assert stage * 4 == pytest.approx(round(stage * 4), abs=1e-6)  # float us have steps of 250 ns
        if "Preparing" in row and raw.steps:
            busy = min(event["ts"] for name in ("Computing", "Communication") for event in found[name])
            assert figures["Preparing"] * 4 % 1 == 0
            assert figures["Preparing"] == pytest.approx(float(busy - begun[row["Step"]]), abs=0.25)


@invariant("05", TRACE, KERNELS, mindspore=True)
def computing_is_the_union_of_the_kernels(raw: Raw) -> None:
    for kind, rows in (("Computing", raw.computing), ("Communication", raw.communicating)):
        shown = [event["dur"] for event in raw.process("Overlap Analysis") if event["name"] == kind]
        assert abs(sum(shown) - union(_spans(rows))) <= Decimal("0.001") * (len(rows) + 1), kind


@invariant("06", "op_statistic.csv", mindspore=True)
def op_statistic_groups_the_kernels(raw: Raw) -> None:
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for row in raw.computing:
        groups[row["Type"], row["Accelerator Core"]].append(Decimal(row["Duration(us)"]))
    whole = sum(sum(durs) for durs in groups.values())
    rows = raw.csv("op_statistic.csv")
    assert {(row["OP Type"], row["Core Type"]) for row in rows} == set(groups)
    for row in rows:
        durs = groups[row["OP Type"], row["Core Type"]]
        assert int(row["Count"]) == len(durs)
        assert (Decimal(row["Min Time(us)"]), Decimal(row["Max Time(us)"])) == (min(durs), max(durs))
        assert abs(Decimal(row["Total Time(us)"]) - sum(durs)) <= Decimal("0.007")
        assert abs(Decimal(row["Avg Time(us)"]) - sum(durs) / len(durs)) <= Decimal("0.001")
        assert abs(Decimal(row["Ratio(%)"]) - 100 * sum(durs) / whole) <= Decimal("0.0006")
    totals = [Decimal(row["Total Time(us)"]) for row in rows]
    assert totals == sorted(totals, reverse=True)


@invariant("07", KERNELS, mindspore=True)
def kernels_are_sorted_and_wait_is_the_gap(raw: Raw) -> None:
    spans = _spans(raw.kernels)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert Decimal(raw.kernels[0]["Wait Time(us)"]) == 0
    for row, (start, _), (_, end) in zip(raw.kernels[1:], spans[1:], spans):
        assert abs(Decimal(row["Wait Time(us)"]) - max(Decimal(0), start - end)) <= Decimal("0.001")


@invariant("08", TRACE, KERNELS, mindspore=True)
def every_kernel_is_in_the_trace(raw: Raw) -> None:
    slack = Decimal("0.001") if raw.exact_ts else Decimal("0.25")
    slices: dict[str, Spans] = defaultdict(list)
    for event in raw.process("Ascend Hardware", "HCCL", "Communication"):
        slices[event["name"]].append((event["ts"], event["dur"]))
    for row in raw.kernels:
        start, dur = Decimal(row["Start Time(us)"]), Decimal(row["Duration(us)"])
        # MindSpore puts the name of the launch in front
        name = row["Name"].rpartition("/")[2] if raw.folder.name.endswith("_ascend_ms") else row["Name"]
        near = [one for one in slices[name] if abs(one[0] - start) <= slack and abs(one[1] - dur) <= Decimal("0.001")]
        assert len(near) == 1, row["Name"]


@invariant("09", TRACE, OPERATORS)
def operator_details_follow_from_the_trace(raw: Raw) -> None:
    rows, rebuilt = raw.csv(OPERATORS), operators(raw)
    assert len(rows) == len(rebuilt) > 0
    for row, op in zip(rows, rebuilt):
        assert row["Name"] == op.name
        for header, value in (
            ("Host Self Duration(us)", op.host_self),
            ("Host Total Duration(us)", op.host_total),
            ("Device Self Duration(us)", op.device_self),
            ("Device Total Duration(us)", op.device_total),
            ("Device Self Duration With AICore(us)", op.aicore_self),
            ("Device Total Duration With AICore(us)", op.aicore_total),
        ):
            assert float(row[header]) == pytest.approx(float(value), abs=1e-6), (op.name, header)
    ends = [event for event in raw.events if event.get("cat") == "async_npu" and event["ph"] == "f"]
    targets = [raw.by_place[event["pid"], event["tid"], event["ts"]] for event in ends]
    on_core = [event for event in targets if event["args"].get("Task Type") == "AI_CORE"]
    for header, tasks in (
        ("Device Self Duration(us)", targets),
        ("Device Self Duration With AICore(us)", on_core),
    ):
        whole = float(sum(event["dur"] for event in tasks))
        assert sum(float(row[header]) for row in rows) == pytest.approx(whole, abs=1e-6)


@invariant("10", "memory_record.csv", "operator_memory.csv")
def memory_adds_up(raw: Raw) -> None:
    for row in raw.csv("operator_memory.csv"):
        for time, dur in (("Release Time(us)", "Duration(us)"), ("Active Release Time(us)", "Active Duration(us)")):
            if row.get(time):
                assert Decimal(row[time]) - Decimal(row["Allocation Time(us)"]) == Decimal(row[dur])
            elif time in row:
                assert row[dur] == ""
    last: dict[str, dict[str, str]] = {}
    records = raw.csv("memory_record.csv")
    assert any(row["Component"] == "PTA+GE" for row in records)
    for row in records:
        if row["Component"] == "PTA+GE":
            for name in {"Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"} & row.keys():
                parts = [number(found[name]) or Decimal(0) for found in last.values()]
                assert abs(Decimal(row[name]) - sum(parts)) <= Decimal("0.000001")
        elif row["Component"] in ("PTA", "GE"):
            last[row["Component"]] = row


@invariant("11", "api_statistic.csv", TRACE, mindspore=True)
def api_statistic_groups_the_cann_calls(raw: Raw) -> None:
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in raw.process("CANN"):
        level = event["args"]["level"]
        name = event["args"]["item_id"] if level in ("hccl", "communication") else event["name"].split("@", 1)[1]
        groups[level, name].append(float(event["dur"]))
    rows = raw.csv("api_statistic.csv")
    assert {(row["Level"], row["API Name"]) for row in rows} == set(groups)
    for row in rows:
        durs = groups[row["Level"], row["API Name"]]
        assert int(row["Count"]) == len(durs)
        for header, value in (("Time(us)", sum(durs)), ("Min(us)", min(durs)), ("Max(us)", max(durs))):
            assert float(row[header]) == pytest.approx(value, abs=1e-6)  # dur may read 8.590000000000002
        assert float(row["Variance"]) == pytest.approx(statistics.pvariance(durs), abs=0.01)


def _check_times(times: dict[str, float]) -> None:
    parts = times["Transit Time(ms)"] + times["Wait Time(ms)"]
    assert times["Idle Time(ms)"] == pytest.approx(times["Elapse Time(ms)"] - parts, abs=1e-9)
    for name in ("Wait", "Synchronization"):
        whole = times[f"{name} Time(ms)"] + times["Transit Time(ms)"]
        expected = times[f"{name} Time(ms)"] / whole if whole else 0
        assert times[f"{name} Time Ratio"] == pytest.approx(expected, abs=5.1e-5)


#: MB of 1e6 bytes above which a packet is large.
LARGE = {"RDMA": 0.5, "HCCS": 32, "PCIE": 32, "SIO": 32}


def _check_links(links: dict[str, Any]) -> None:
    for link, figures in links.items():
        size, time, packets = figures["Transit Size(MB)"], figures["Transit Time(ms)"], figures["Size Distribution"]
        assert figures["Bandwidth(GB/s)"] == pytest.approx(size / time if time else 0, abs=1e-3)
        if link != "SDMA":
            assert sum(float(p) * count for p, (count, _) in packets.items()) == pytest.approx(size, abs=1e-6)
            assert sum(ms for _, ms in packets.values()) == pytest.approx(time, abs=1e-6)
        if packets and link in LARGE:
            large = sum(count for packet, (count, _) in packets.items() if float(packet) > LARGE[link])
            assert figures["Large Packet Ratio"] == round(large / sum(count for count, _ in packets.values()), 4)
    parts = [links.get(link, {}).get("Transit Size(MB)", 0) for link in ("HCCS", "PCIE", "SIO")]
    assert links["SDMA"]["Transit Size(MB)"] == pytest.approx(sum(parts), abs=1e-9)


@invariant("12", COMMUNICATION, KERNELS, mindspore=True)
def communication_adds_up(raw: Raw) -> None:
    kernels = {row["Name"]: float(row["Duration(us)"]) for row in raw.communicating}
    seen = set()
    for entries in (entries for kinds in raw.json(COMMUNICATION).values() for entries in kinds.values() if entries):
        total = entries["Total Op Info"]["Communication Time Info"]
        ops = {key: value for key, value in entries.items() if key != "Total Op Info"}
        for key, op in ops.items():
            times, name = op["Communication Time Info"], key.split("@")[0]
            seen.add(name)
            _check_times(times)
            assert times["Elapse Time(ms)"] * 1000 == pytest.approx(kernels[name], abs=0.01)
            _check_links(op["Communication Bandwidth Info"])
        _check_times(total)
        for key in (key for key in total if key.endswith("(ms)")):
            parts = [op["Communication Time Info"][key] for op in ops.values()]
            assert total[key] == pytest.approx(sum(parts), abs=1e-9)
    assert seen == set(kernels)


@invariant("13", TRACE)
def flows_have_both_ends_on_slices(raw: Raw) -> None:
    ids: dict[tuple[str, str], set[Any]] = defaultdict(set)
    for event in raw.events:
        if event["ph"] in "sf":
            ids[event["cat"], event["ph"]].add(event["id"])
            # the start of a HostToDevice flow lies inside a call, and at level 0 that call is pruned
            if not (event["cat"] == "HostToDevice" and event["ph"] == "s"):
                assert (event["pid"], event["tid"], event["ts"]) in raw.by_place, event
    kinds = {cat for cat, _ in ids}
    for cat in kinds:
        assert ids[cat, "s"] == ids[cat, "f"], cat
    device = bool(raw.process("Ascend Hardware", "HCCL", "Communication"))
    host = any(e.get("cat") == "cpu_op" and not e["name"].startswith("ProfilerStep#") for e in raw.slices)
    queue = {"async_task_queue"} if has_task_queue(raw.folder) else set()
    expected = {"HostToDevice"} if device else set()
    if device and host:
        expected |= {"fwdbwd", "async_npu"} | queue
    elif host:  # Level_none still has the task queue of the framework
        expected = {"fwdbwd"} | (kinds & {"async_task_queue"})
    assert kinds - {"MsTx"} == expected


@invariant("14", KERNELS, mindspore=True)
def metric_times_and_ratios_agree(raw: Raw) -> None:
    for row in raw.kernels:
        for core, prefix in (("aicore_time(us)", "aic"), ("aiv_time(us)", "aiv")):
            whole = number(row.get(core, ""))
            if whole is None:
                continue
            # two clocks: one real kernel in 374 counts 1.6 % more core time than its duration
            assert whole <= Decimal(row["Duration(us)"]) * Decimal("1.02")
            for header in row:
                ratio = header.replace("_time(us)", "_ratio")
                if header.startswith(prefix + "_") and ratio in row and ratio != header and whole > 1:
                    assert abs(Decimal(row[header]) / whole - Decimal(row[ratio])) < Decimal("0.001"), header


# -- databases --------------------------------------------------------------------------------------
#: File of the text -> tables that exist where it does.
TABLES_OF = {
    KERNELS: {"TASK", "COMPUTE_TASK_INFO", "CANN_API"},
    "memory_record.csv": {"MEMORY_RECORD"},
    "operator_memory.csv": {"OP_MEMORY"},
    "npu_module_mem.csv": {"NPU_MODULE_MEM", "NPU_MEM"},
    "nic.csv": {"NIC"},
    "roce.csv": {"ROCE"},
    "pcie.csv": {"PCIE"},
    "hccs.csv": {"HCCS"},
}
#: Process of the trace -> table that exists where it has counters.
COUNTERS = {"AI Core Freq": "AICORE_FREQ", "HBM": "HBM", "LLC": "LLC", "NPU MEM": "NPU_MEM", "NIC": "NIC"}
COUNTERS |= {"RoCE": "ROCE", "PCIe": "PCIE", "HCCS": "HCCS"}
#: Chips without vector cores.
UNIFIED = ("Ascend910A", "Ascend310P")


def ns(text: str) -> int:
    """us -> ns."""
    return int(Decimal(text) * 1000)


@invariant("", DATABASE, TRACE)
def tables_exist_where_their_files_do(raw: Raw) -> None:
    found, text = tables(raw.folder), raw.content(TRACE).decode()
    for file, names in TABLES_OF.items():
        assert names & found == (names if raw.has(file) else set()), file
    counted = {raw.processes[event["pid"]] for event in raw.events if event["ph"] == "C"}
    assert {table for name, table in COUNTERS.items() if name in counted} == found & set(COUNTERS.values())
    assert raw.has("analysis.db") == raw.has(STEPS)
    if raw.has(STEPS):
        kinds = ("Time", "Bandwidth", "Matrix") if raw.has(COMMUNICATION) else ()
        assert tables(raw.folder, "analysis.db") == {"StepTraceTime", *(f"CommAnalyzer{kind}" for kind in kinds)}
    for table, exists in (
        ("STEP_TIME", bool(raw.steps)),
        ("PYTORCH_API", any(event.get("cat") == "cpu_op" for event in raw.slices)),
        ("TASK_PMU_INFO", raw.has(KERNELS) and "aicore_time(us)" in raw.kernels[0]),
        ("GC_RECORD", '"Python GC"' in text),
        ("COMMUNICATION_TASK_INFO", "COMMUNICATION_OP" in found),  # at level 0 without what the tasks do
        ("PYTORCH_CALLCHAINS", '"Call stack"' in text),
    ):
        assert (table in found) == exists, table


@invariant("15", DATABASE, TRACE, KERNELS, OPERATORS, at_rest=True)
def step_trace_follows_from_the_tasks(raw: Raw) -> None:
    found = tables(raw.folder)
    comm = query(raw.folder, "SELECT startNs,endNs FROM COMMUNICATION_OP") if "COMMUNICATION_OP" in found else []
    kernels = query(raw.folder, "SELECT startNs,endNs FROM TASK JOIN COMPUTE_TASK_INFO USING(globalTaskId)")
    host = "(SELECT MIN(startNs) AS startNs FROM PYTORCH_API WHERE type IN (50001,50004))"
    marks = "STEP_TIME" if "STEP_TIME" in found else host
    starts = [at for (at,) in query(raw.folder, f"SELECT CAST(startNs AS INTEGER) FROM {marks} ORDER BY 1")]
    rows = query(raw.folder, "SELECT computing,free,preparing FROM StepTraceTime", "analysis.db")
    assert len(rows) == len(starts)
    for row, start, end in zip(rows, starts, [*starts[1:], 1 << 62]):
        computing = [span for span in kernels if start <= span[0] < end]
        busy = sorted([*computing, *(span for span in comm if start <= span[0] < end)])
        later = [at for at, _ in (*kernels, *comm) if at >= end]
        # free time lasts until the next step begins on the device
        until = min(later, default=max(stop for _, stop in busy))
        free = until - busy[0][0] - int(union(busy))
        expected = (int(union(computing)), free, busy[0][0] - start)
        assert [figure * 1000 for figure in row] == pytest.approx(expected, abs=0.1)


@invariant("15", DATABASE, COMMUNICATION)
def communication_of_both_databases_agrees(raw: Raw) -> None:
    sql = """SELECT value,c.endNs-c.startNs,c.startNs,c.endNs,MIN(t.startNs),MAX(t.endNs) FROM COMMUNICATION_OP c
             JOIN STRING_IDS ON opName=id JOIN COMMUNICATION_TASK_INFO i USING(opId) JOIN TASK t USING(globalTaskId)
             GROUP BY c.opId"""
    ops = query(raw.folder, sql)
    elapsed = query(raw.folder, "SELECT hccl_op_name,elapse_time FROM CommAnalyzerTime", "analysis.db")
    assert Counter(op[:2] for op in ops) == Counter((name, round(ms * 1e6)) for name, ms in elapsed)
    assert [op[2:4] for op in ops] == [op[4:] for op in ops]


@invariant("15", DATABASE, TRACE, KERNELS)
def tasks_of_the_database_are_kernels_of_the_text(raw: Raw) -> None:
    orphans = """SELECT COUNT(*) FROM TASK JOIN STRING_IDS ON taskType=id WHERE value<>'MsTx'
                 AND connectionId NOT IN (SELECT connectionId FROM CANN_API)"""
    assert query(raw.folder, orphans) == [(0,)]
    assert query(raw.folder, "SELECT COUNT(*)=COUNT(DISTINCT globalTaskId) FROM TASK") == [(1,)]
    sql = """SELECT n.value, t.startNs, t.endNs-t.startNs, y.value, c.value FROM COMPUTE_TASK_INFO i
             JOIN TASK t USING(globalTaskId) JOIN STRING_IDS n ON n.id=i.name JOIN STRING_IDS y ON y.id=i.opType
             JOIN STRING_IDS c ON c.id=i.taskType ORDER BY 2"""
    assert query(raw.folder, sql) == [
        (row["Name"], ns(row["Start Time(us)"]), ns(row["Duration(us)"]), row["Type"], row["Accelerator Core"])
        for row in raw.computing
    ]
    kinds = {kind for (kind,) in query(raw.folder, "SELECT DISTINCT value FROM TASK JOIN STRING_IDS ON taskType=id")}
    ((chip,),) = query(raw.folder, "SELECT name FROM NPU_INFO")
    vector = set() if chip.startswith(UNIFIED) else {"KERNEL_AIVEC"}
    assert kinds & {"KERNEL_AICORE", "KERNEL_AIVEC"} == {"KERNEL_AICORE"} | vector  # known even at level 0


@invariant("", DATABASE, TRACE, OPERATORS)
def queue_elements_and_backward_links_come_in_pairs(raw: Raw) -> None:
    found = tables(raw.folder)
    own = "WHERE x.connectionId NOT IN (SELECT connectionId FROM CANN_API)" * ("CANN_API" in found)
    sql = f"""SELECT COUNT(*),MIN(a.type),MAX(a.type) FROM PYTORCH_API a JOIN CONNECTION_IDS x ON x.id=a.connectionId
              {own} GROUP BY x.connectionId,a.type"""
    counts = Counter(query(raw.folder, sql))
    (info,) = raw.folder.glob("profiler_info*.json")
    activities = json.loads(info.read_text())["config"]["common_config"]["activities"]
    enqueues = "ProfilerActivity.NPU" in activities and has_task_queue(raw.folder)
    assert set(counts) == {(2, 50001, 50001)} | ({(2, 50002, 50002)} if enqueues else set())
    flows = Counter(event["cat"] for event in raw.events if event["ph"] == "s")
    assert (counts[2, 50002, 50002], counts[2, 50001, 50001]) == (flows["async_task_queue"], flows["fwdbwd"])


@invariant("16", DATABASE, TRACE, STEPS)
def step_trace_of_database_and_text_agree(raw: Raw) -> None:
    sql = """SELECT deviceId,step,computing,communication_not_overlapped,overlapped,communication,free,stage,bubble,
             communication_not_overlapped_and_exclude_receive,preparing FROM StepTraceTime"""
    rows = query(raw.folder, sql, "analysis.db")
    assert len(rows) == len(raw.csv(STEPS))
    for row, shown in zip(rows, raw.csv(STEPS)):
        assert (str(row[0]), row[1]) == (shown["Device_id"], shown["Step"])
        for value, (name, cell) in zip(row[2:], list(shown.items())[2:]):
            assert value == pytest.approx(float(cell), abs=0.26 if name in ("Stage", "Preparing") else 1e-6), name


@invariant("", DATABASE, TRACE, OPERATORS)
def strings_have_the_ranges_of_their_writers(raw: Raw) -> None:
    found = tables(raw.folder)
    cann, torch = {"CANN_API": "name", "TASK": "taskType"}, {"PYTORCH_API": "name", "PYTORCH_CALLCHAINS": "stack"}
    for columns, first, last in ((cann, 0, 1 << 28), (torch, 1 << 28, 2 << 28)):
        for table in columns.keys() & found:
            column = columns[table]
            bounds = query(raw.folder, f"SELECT MIN({column}),MAX({column}) FROM {table} WHERE {column} IS NOT NULL")
            assert all(first <= id_ < last for row in bounds for id_ in row if id_ is not None), table
    missing = "SELECT COUNT(*) FROM PYTORCH_API WHERE name NOT IN (SELECT id FROM STRING_IDS)"
    assert query(raw.folder, missing) == [(0,)]
    assert query(raw.folder, "SELECT DISTINCT typeof(startNs) FROM PYTORCH_API") == [("text",)]
