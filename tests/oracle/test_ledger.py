"""Ledgers of real runs against worked examples that were computed with the standard library alone."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import pytest

from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.ledger.model import RankLedger
from tests.support.reading import open_spans
from tests.support.real_data import REAL_DATA, skip_without

SHARED = REAL_DATA.parent
EXAMPLES = SHARED / "specs" / "ledger_examples.json"
TEXT, DB, LLM = "ascend_pt_text_level1", "ascend_pt_db_level1", "ascend_pt_llm_4ranks"
LATE = "cases/verdict/late_host_8ranks"
#: Scripts that write their set into a folder.
MC2, CUT, STAGES = (f"cases/verdict/{name}" for name in ("mc2_case", "make_cut_kernels", "make_stage_imbalance"))
MADE = (MC2, CUT, STAGES)
_FOR_RANK = re.compile(r"waiting.* for rank (\d+)")
_DB = "ascend_pytorch_profiler_?.db"

#: Set, variant, files that are removed, the one rank that is kept; who or what is to blame.
Verdict = tuple[str, tuple[int, ...], Optional[int]]
CASES: list[tuple[str, str, Sequence[str], Optional[int], Verdict]] = [
    (TEXT, "all files", (), None, ("loss", (5,), None)),
    (TEXT, "rank alone", (), 0, ("loss", (5,), None)),
    (TEXT, "kernel_details.csv missing", ("kernel_details.csv",), None, ("loss", (5,), None)),
    (TEXT, "without trace_view.json", ("trace_view.json",), None, ("loss", (), None)),
    (TEXT, "rank alone, without trace_view.json", ("trace_view.json",), 1, ("loss", (), None)),
    (DB, "all files", (), None, ("loss", (6,), None)),
    (DB, "rank alone", (), 1, ("loss", (6,), None)),
    (DB, "analysis.db missing", ("analysis.db",), None, ("loss", (6,), None)),
    (DB, "ascend_pytorch_profiler_N.db missing (analysis.db alone)", (_DB,), None, ("loss", (), None)),
    (LLM, "all files", (), None, ("loss", (), 2)),
    (LLM, "kernel_details.csv missing", ("kernel_details.csv",), None, ("loss", (), 2)),
    (LLM, "rank 0 alone", (), 0, ("loss", (), None)),
    (LATE, "all files: mean of steps 5, 6, 7", (), None, ("unexplained", (), None)),
    (LATE, "rank alone", (), 5, ("unexplained", (), None)),
    (MC2, "all files: each of steps 11, 12, 13", (), None, ("loss", (5,), None)),
    (MC2, "kernel_details.csv missing", ("kernel_details.csv",), None, ("unexplained", (), None)),
    (CUT, "all files", (), None, ("loss", (), None)),
    (STAGES, "all files", (), None, ("loss", (), 2)),
    (STAGES, "rank 0 alone", (), 0, ("loss", (), None)),
    (LLM, "without trace_view.json (there is none)", (), None, ("loss", (), 2)),
]


@pytest.mark.parametrize(("name", "variant", "removed", "kept", "verdict"), CASES)
def test_worked_examples(
    name: str, variant: str, removed: Sequence[str], kept: Optional[int], verdict: Verdict, tmp_path: Path
) -> None:
    if not EXAMPLES.exists():
        pytest.skip(f"no {EXAMPLES}")
    source = skip_without(SHARED / name if "/" in name else REAL_DATA / name)
    if name in MADE:
        subprocess.run([sys.executable, source.with_suffix(".py"), tmp_path / "made"], check=True)
        source = tmp_path / "made"
    folder = shutil.copytree(source, tmp_path / "run", ignore=shutil.ignore_patterns(*removed))
    examples = [
        one
        for one in json.loads(EXAMPLES.read_text())["sets"]
        if (one["set"], one["variant"]) == (name, variant) and kept in (None, one["rank"])
    ]
    run = RunData([one for one in open_spans(folder, tmp_path) if kept in (None, one.capture.rank)])
    ledgers = {one.rank: one for one in run.ledgers}
    assert len(examples) == len(ledgers)
    for example in examples:
        check(ledgers[example["rank"]], example)
    judgement = run.judgement
    assert (judgement.kind, judgement.culprits, judgement.stage) == verdict


def test_a_recorded_run_has_the_same_ledgers_at_level0(tmp_path: Path) -> None:
    """Level0 writes neither communication files, nor planes, nor calls of CANN; the streams of the device are as recorded."""
    folder = shutil.copytree(
        skip_without(REAL_DATA / TEXT), tmp_path / "run", ignore=shutil.ignore_patterns("communication*.json")
    )
    for path in folder.rglob("trace_view.json"):
        events = json.loads(path.read_text(), parse_float=str)
        names = {(one["name"], one["pid"], one["tid"]): one["args"] for one in events if one["ph"] == "M"}
        planes = {key[1:] for key, args in names.items() if str(args.get("name")).startswith("Plane")}
        calls = {pid for (_, pid, _), args in names.items() if args.get("name") == "CANN"}
        left = [
            one
            for one in events
            if one["ph"] != "X" or ((one["pid"], one["tid"]) not in planes and one["pid"] not in calls)
        ]
        assert len(left) < len(events)
        path.write_text(json.dumps(left))
    run = RunData(open_spans(folder, tmp_path))
    assert run.judgement.culprits == (5,)
    entries = {
        one.rank: {(each.entry, each.detail, each.culprit): each.ns for each in one.entries} for one in run.ledgers
    }
    # Of the worked examples: waiting, transfer, late launches, in ns; late launches by the whole gap.
    for rank, waiting, transfer, late in (
        (0, 97_858_000, 4_105_000, 21_056_000),
        (1, 92_263_000, 4_096_000, 21_928_000),
    ):
        assert entries[rank]["waiting", "collective", 5] == pytest.approx(waiting, abs=1_000)
        assert entries[rank]["transfer", "", None] == pytest.approx(transfer, abs=1_000)
        assert entries[rank]["idle", "late", None] == pytest.approx(late, abs=1_000)


def check(ledger: RankLedger, example: dict[str, Any]) -> None:
    """Each entry is the one of the example, or its bounds hold it; where the example has bounds, they are the same."""
    assert sum(entry.ns for entry in ledger.entries) == ledger.window_ns
    assert abs(ledger.window_ns - example["window_ns"]) <= 1_000
    is_bounded = "waiting_ns_is" in example
    places = ("low_ns", "high_ns") if is_bounded else ("ns",)
    expected: dict[tuple[str, Optional[int]], list[int]] = {}
    for one in example["entries"]:
        if (key := key_of(one)) is not None:
            add(expected, key, [one[place] for place in places])
    actual: dict[tuple[str, Optional[int]], list[int]] = {}
    for entry in ledger.entries:
        kind = "idle" if entry.entry in ("unexplained", "copies") else entry.entry
        add(actual, (kind, entry.culprit), [getattr(entry, place) for place in places])
    tolerance = max(example["tolerance_ns"] + 1_000, 100_000 * is_bounded)
    assert {key for key, ns in expected.items() if max(ns) > 50_000} == {
        key for key, ns in actual.items() if max(ns) > 50_000
    }
    for key, ns in expected.items():
        bounds = [(one.low_ns, one.high_ns) for one in ledger.entries if one.entry == key[0] and one.culprit == key[1]]
        is_inside = not is_bounded and sum(low for low, _ in bounds) <= ns[0] <= sum(high for _, high in bounds)
        assert is_inside or actual.get(key, [0] * len(ns)) == pytest.approx(ns, abs=tolerance), key


def add(sums: dict[tuple[str, Optional[int]], list[int]], key: tuple[str, Optional[int]], times: list[int]) -> None:
    sums[key] = [sum(both) for both in zip(sums.get(key, [0] * len(times)), times)]


def key_of(entry: dict[str, Any]) -> tuple[str, Optional[int]] | None:
    """Kind and awaited rank; None for what stands beside the entries."""
    name = entry["entry"]
    if entry["kind"] != "entry" or name.endswith("outside the window"):
        return None
    if (rank := _FOR_RANK.fullmatch(name)) is not None:
        return "waiting", int(rank.group(1))
    if name == "exposed communication: waiting or transfer":
        return "communication", None
    if "waiting" in name:
        return "waiting", None
    if name.startswith(("idle", "unexplained", "copies")):
        return "idle", None
    return name.rpartition(": ")[2], None


def test_points_of_mindinsight(tmp_path: Path) -> None:
    """The mean of steps 2 to 20, by the counts of 10 ns in step_trace_raw."""
    folder = skip_without(REAL_DATA / "mindinsight_single")
    run = RunData([span for span in open_spans(folder, tmp_path) if span.rows("iterations")])
    source = next((folder / "profiler").glob("step_trace_raw_*_detail_time.csv"))
    with source.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["step_num"].isdecimal()][1:]
    sums = {
        key: sum(10 * int(row[key]) for row in rows) // len(rows) for key in ("iteration_interval", "fp_and_bp", "tail")
    }
    found = {one.detail: one.ns for one in run.ledgers[0].entries}
    assert found == pytest.approx(dict(zip(("gap", "forward_backward", "tail"), sums.values())), abs=2)
    assert (run.judgement.kind, run.judgement.entry and run.judgement.entry.detail) == ("unexplained", "gap")


def test_stages_of_a_mindinsight_cluster(tmp_path: Path) -> None:
    """Stage 2 computes 123 of 179 ms, stage 1 15."""
    run = RunData(open_spans(skip_without(REAL_DATA / "mindinsight_cluster"), tmp_path))
    assert (run.judgement.kind, run.judgement.stage) == ("loss", 2)
    assert [round(one.total("computing") / 1e6) for one in run.ledgers] == [15, 15, 123, 123]


def test_window_and_what_is_beside_it_are_the_mark_of_the_step(tmp_path: Path) -> None:
    folder = skip_without(REAL_DATA / TEXT)
    marks = []
    for trace in folder.rglob("trace_view.json"):
        found = re.search(r'"name": "ProfilerStep#\d+".*?"dur": ([\d.]+)', trace.read_text(encoding="utf-8"))
        assert found is not None
        marks.append(round(float(found[1]) * 1000))
    ledgers = RunData(open_spans(folder, tmp_path)).ledgers
    assert sorted(one.before_ns + one.window_ns + one.after_ns for one in ledgers) == pytest.approx(
        sorted(marks), abs=500
    )
