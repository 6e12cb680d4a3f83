"""Idle time: gaps, launches and causes are those of trace_view.json."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from tb_npu_plugin.analysis.idle.model import DeviceIdle
from tb_npu_plugin.analysis.idle.of_span import idle_of
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.events.scan import scan_database
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tests.oracle.raw import REAL_RUN, Event, Raw, every_result, ns, raw, us
from tests.oracle.timelines import timeline
from tests.support.real_data import recording
from tests.support.span import found_spans

FOLDERS = every_result("trace_view.json", "step_trace_time.csv", "kernel_details.csv")
#: Causes on the host in the order of their priority: process or name.
HOST = (
    ("garbage_collection", None),
    ("data_loading", re.compile(r"enumerate\(DataLoader\).*|dataloader")),
    ("communication", None),
    ("allocator", re.compile(r".*@aclrt(Malloc|Free).*")),
    ("compile", re.compile(r".*(aclopCompile|opCompile).*")),
    ("synchronization", re.compile(r".*(aclrtSynchronize\w*|@aclrtMemcpy)")),
)
#: Operators that wait, where no CANN calls are recorded.
WAITING = re.compile(r"aten::(item|_local_scalar_dense)")
COMMUNICATION = ("HCCL", "Communication")
DEVICE = ("Ascend Hardware", "Overlap Analysis", *COMMUNICATION)


class Times(NamedTuple):
    start: int
    end: int


def times(event: Event) -> Times:
    start = ns(event["ts"])
    return Times(start, start + (us(event["dur"]) or 0))


def found(folder: Path) -> DeviceIdle:
    (span,) = found_spans(folder)
    span.timeline = timeline(folder)
    (idle,) = idle_of(span)
    return idle


def launches(result: Raw, of_call: bool = True) -> dict[int, tuple[int, Event]]:
    """Start of each launched task -> (earliest launch, the task). of_call: the launch is the start of the innermost call
    around that of the flow, else the start of the flow (level 0)."""
    calls: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in result.slices:
        calls[event["pid"], event["tid"]].append(event)
    for own in calls.values():
        own.sort(key=lambda event: (event["ts"], -event["dur"]))
    starts = {thread: [event["ts"] for event in own] for thread, own in calls.items()}

    def around(flow: Event) -> Event | None:
        thread = (flow["pid"], flow["tid"])
        before = calls[thread][: bisect_right(starts.get(thread, []), flow["ts"])]
        return next((one for one in reversed(before) if one["ts"] + one["dur"] >= flow["ts"]), None)

    begins: dict[str, Event] = {}
    ends: list[Event] = []
    for event in result.events:
        if event.get("cat") == "HostToDevice":
            if event["ph"] == "s":
                begins[event["id"]] = event
            else:
                ends.append(event)
    out: dict[int, tuple[int, Event]] = {}
    for flow in ends:
        task = result.by_place.get((flow["pid"], flow["tid"], flow["ts"]))
        begin = begins.get(flow["id"])
        call = None if begin is None else around(begin)
        if task is not None and begin is not None:
            launched, start = ns((call if of_call and call is not None else begin)["ts"]), ns(task["ts"])
            if start not in out or launched < out[start][0]:
                out[start] = (launched, task)
    return out


def host_slices(result: Raw) -> list[tuple[Times, int]]:
    """Slices that explain idle time, with their priority."""
    out = []
    host = HOST if result.process("CANN") else (*HOST[:-1], ("synchronization", WAITING))
    for event in result.slices:
        process = result.processes.get(event["pid"])
        for priority, (cause, names) in enumerate(host):
            by_process = {"garbage_collection": process == "Python GC", "communication": process in COMMUNICATION}
            if by_process.get(cause) or (names and process not in DEVICE and names.fullmatch(event["name"])):
                out.append((times(event), priority))
                break
    return out


@pytest.mark.parametrize("folder", FOLDERS)
def test_gaps_sum_to_free(folder: Path) -> None:
    idle, rows = found(folder), raw(folder).csv("step_trace_time.csv")
    for at, (step, row) in enumerate(zip(idle.steps, rows)):
        free = round(Decimal(row["Free"]) * 1000)
        assert step.step == (row["Step"] or None)
        causes = idle.of_step(at)
        assert sum(one.time_ns for one in causes) == free
        late = sum(one.time_ns for one in (*causes, *idle.before_step(at)) if one.cause == "host_late")
        assert idle.times_of_steps("host_late")[at] == late
        if raw(folder).exact_ts:
            assert idle.unplaced[at] == 0
            assert int((idle.gaps.is_free & (idle.gaps.step == at)).sum()) == len(
                raw(folder).overlap(row["Step"])["Free"]
            )


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_moment_has_its_first_cause(folder: Path) -> None:
    result, idle = raw(folder), found(folder)
    if not result.exact_ts:
        pytest.skip("times of 2023 are rounded")
    known, host, error = launches(result), host_slices(result), idle.clock_error_ns or 0
    streams = defaultdict(list)
    for event in result.process("Ascend Hardware"):
        streams[event["tid"]].append(times(event))
    sums: dict[tuple[str, str], int] = defaultdict(int)
    uncertain = 0
    for row in result.csv("step_trace_time.csv"):
        for gap in map(times, result.overlap(row["Step"])["Free"]):
            launched, task = known.get(gap.end, (None, None))
            after = 0 if launched is None else launched - gap.start
            launch = "unknown" if launched is None else "late" if after > 0 else "before"
            uncertain += (launched is not None and abs(after) <= error) * (gap.end - gap.start)
            near = [(one, at) for one, at in host if one.start < gap.end and one.end > gap.start]
            if launch == "before":
                near = [(one, at) for one, at in near if HOST[at][0] in ("communication", "compile")]
            waits: list[Times] = []
            if task is not None and launch != "unknown" and result.processes[task["pid"]] == "Ascend Hardware":
                begin = max(gap.start, launched or 0) if launch == "late" else gap.start
                waits = [Times(max(a, begin), b) for a, b in streams[task["tid"]] if a < gap.end and b > begin]
            short = gap.end - gap.start < 20_000
            rest = "host_late" if launch == "late" else "launch_overhead" if short else "unknown"
            edges = {
                gap.start,
                gap.end,
                *(edge for one, _ in near for edge in one),
                *(edge for one in waits for edge in one),
            }
            inside = sorted(edge for edge in edges if gap.start <= edge <= gap.end)
            for low, high in zip(inside, inside[1:]):
                causes = [at for one, at in near if one.start <= low and one.end >= high]
                waits_here = any(one.start <= low and one.end >= high for one in waits)
                cause = HOST[min(causes)][0] if causes else "dependency" if waits_here else rest
                sums[cause, launch] += high - low
    assert {(one.cause, one.launch): one.time_ns for one in idle.by_cause} == dict(sums)
    gaps = idle.gaps
    assert int((gaps.end - gaps.start)[gaps.is_free & gaps.is_uncertain].sum()) == uncertain


#: Rank -> idle time in us: all; launched after the gap began, in so many gaps; launched before it; calls of
#: aclopCompileAndExecute in all gaps. Without regard to the clock error, and to where in a call the launch is.
REFERENCE = {0: (25744.05, 21056.1, 41, 4688.0, 3327.6), 1: (26675.27, 21927.7, 43, 4747.6, 3557.5)}


@pytest.mark.parametrize("rank", REFERENCE)
def test_a_recorded_run_is_host_bound(rank: int) -> None:
    folder = REAL_RUN / f"rank{rank}_ascend_pt"
    result = raw(folder)
    total, late, count, before, compiled = REFERENCE[rank]
    free, known = [times(event) for event in result.overlap("50")["Free"]], launches(result, of_call=False)
    is_late = {gap: known[gap.end][0] > gap.start for gap in free}
    sums = {value: sum(gap.end - gap.start for gap in free if is_late[gap] == value) / 1000 for value in (True, False)}
    assert (len(free), sum(is_late.values())) == (90, count)
    assert sums == pytest.approx({True: late, False: before}, abs=0.1)
    compiles = [times(event) for event in result.process("CANN") if event["name"].endswith("aclopCompileAndExecute")]
    inside = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in compiles for b in free)
    assert inside / 1000 == pytest.approx(compiled, abs=0.1)

    idle = found(folder)
    assert (idle.total_ns / 1000, len(idle.gaps.start)) == (pytest.approx(total, abs=0.01), 90)
    assert idle.time_of("late") / 1000 == pytest.approx(late, abs=300)
    assert idle.time_of("before") / 1000 == pytest.approx(before, abs=300)
    assert 0 < (idle.clock_error_ns or 0) < 25_000
    assert sum(one.time_ns for one in idle.by_cause if one.cause == "compile") == pytest.approx(inside, rel=0.01)
    longest = int((idle.gaps.end - idle.gaps.start).argmax())
    assert idle.gaps.end[longest] - idle.gaps.start[longest] > 1_300_000
    call = timeline(folder).brief(int(idle.parts.anchor[idle.parts.gap == longest][1]))
    assert call["name"] == "AscendCL@aclopCompileAndExecute"


@pytest.mark.parametrize("rank", (0, 1))
def test_gaps_of_a_recorded_database_sum_to_free(rank: int, tmp_path: Path) -> None:
    folder = recording("ascend_pt_db_level1") / f"rank{rank}_ascend_pt"
    output = folder / "ASCEND_PROFILER_OUTPUT"
    path, log = output / f"ascend_pytorch_profiler_{rank}.db", ProblemLog()
    build_timeline(path, tmp_path, log, lambda _: None, None, scan_database)
    (span,) = found_spans(folder)
    span.timeline = Timeline.open(tmp_path, path)
    (idle,) = idle_of(span)
    with closing(sqlite3.connect(f"file:{output / 'analysis.db'}?mode=ro&immutable=1", uri=True)) as connection:
        ((free,),) = connection.execute("SELECT free FROM StepTraceTime").fetchall()
    assert (idle.total_ns, idle.unplaced, len(idle.gaps.start)) == (round(free * 1000), [0], 90)
    assert 0.7 * idle.total_ns < idle.time_of("late") < 0.9 * idle.total_ns
