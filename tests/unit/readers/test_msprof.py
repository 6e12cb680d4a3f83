"""Exports of msprof that are damaged, cut or of another clock. Figures of good ones: tests/oracle/test_msprof.py."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.installation import SCANNER_VARIABLE
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.msprof import pieces
from tb_npu_plugin.scan import MEMORY, scan_trace
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.views import doctor, step_trace
from tb_npu_plugin.views.base import ViewInput
from tests.support.fixtures import FIXTURES
from tests.support.span import TestSpan, found_spans

STEPS = "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),Model ID\n"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """The output folder of a copy of msprof_pieces."""
    shutil.copytree(FIXTURES / "results" / "msprof_pieces", tmp_path / "run")
    return next((tmp_path / "run").rglob("mindstudio_profiler_output"))


def read(output: Path) -> TestSpan:
    (span,) = found_spans(output.parents[1])
    return span


def codes(span: TestSpan) -> set[str]:
    return {problem.code for problem in span.problems}


def piece(output: Path, number: int, name: str = "op_summary_slice_{}_*.csv") -> Path:
    return next(output.glob(name.format(number)))


def trace_pieces(output: Path) -> list[Path]:
    return [piece(output, number, "msprof_slice_{}_*.json") for number in (0, 1, 2)]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def other_header(path: Path) -> None:
    path.write_text(path.read_text().replace("Op Name", "OP Type", 1))


@pytest.mark.parametrize("scanner", ["", "python"])
def test_a_lost_piece_loses_its_rows(output: Path, monkeypatch: pytest.MonkeyPatch, scanner: str) -> None:
    monkeypatch.setenv(SCANNER_VARIABLE, scanner)
    names = read(output).tables["kernels"].text("name").tolist()
    lost = len(piece(output, 0).read_text().splitlines()) - 1
    piece(output, 0).unlink()
    span = read(output)
    assert [(one.code, one.where) for one in span.problems] == [
        ("missing_piece", "op_summary_slice_0_20250615070512.csv")
    ]
    assert span.tables["kernels"].text("name").tolist() == names[lost:] != []


@pytest.mark.parametrize(
    ("damage", "code", "lost"),
    [
        (lambda path: path.write_text(""), "empty_file", 4),
        (other_header, "other_header", 4),
        (cut, "truncated_row", 1),
    ],
)
def test_a_damaged_piece(output: Path, damage: Callable[[Path], object], code: str, lost: int) -> None:
    before = read(output).rows("kernels") or 0
    path = piece(output, 1)
    damage(path)
    span = read(output)
    assert span.rows("kernels") == before - lost
    (found,) = [problem for problem in span.problems if problem.severity == "error"]
    assert (found.code, found.file.rpartition("/")[2]) == (code, path.name)


def test_pieces_are_read_in_the_order_of_their_numbers(output: Path) -> None:
    first = piece(output, 0)
    header, *lines = first.read_text().splitlines()
    for number in range(12):
        row = lines[0].replace("aclnnAddmm", f"k{number}", 1)
        (output / first.name.replace("_slice_0_", f"_slice_{number}_")).write_text(f"{header}\n{row}\n")
    other = first.name.replace("_slice_0_", "_slice_12_").replace("2025", "2024")
    (output / other).write_text(f"{header}\n{lines[0].replace('aclnnAddmm', 'other_export', 1)}\n")
    names = read(output).tables["kernels"].text("name").tolist()
    assert [(name or "").partition("_")[0] for name in names] == [f"k{number}" for number in range(12)]


def test_iterations_of_another_clock_have_no_place(output: Path) -> None:
    next(output.glob("step_trace_*.csv")).write_text(STEPS + "0,1,80.000,90.000,95.500,15.500,7\n")
    span = read(output)
    assert codes(span) == {"other_clock"}
    data = step_trace.build(ViewInput([span], {})).data
    (step,) = data["steps"]
    assert (step["start_ns"], step["total_ns"]) == (None, 15500)


def test_iterations_of_several_graphs_say_which(output: Path) -> None:
    for path in output.glob("op_summary*"):
        path.unlink()
    rows = "0,1,80,90,95.5,15.5,7\n0,1,180,N/A,195.5,N/A,8\n0,x,1,2,,3,8\n0,2,N/A,N/A,295.5,15.5,8\n"
    next(output.glob("step_trace_*.csv")).write_text(STEPS + rows)
    span = read(output)
    table = span.tables["iterations"]
    assert table.text("step").tolist() == ["7/1", "8/1", "8/2"]
    assert table.ints("start_ns").tolist() == [80000, 180000, 280000]
    assert codes(span) == {"bad_required_cell"}


def timeline(output: Path, out: Path) -> tuple[Timeline, list[Problem]]:
    (place,) = scan({"": output.parents[1]}).places()
    out.mkdir()
    log = ProblemLog()
    trace = place.span.folder / place.span.trace_files[0].relative
    build_timeline(trace, out, log, lambda _: None, scan=READERS["msprof"].scan)
    return Timeline.open(out, trace), log.list()


def shown(found: Timeline) -> list[tuple[str, int, int, str, int]]:
    """Name, start, duration, args and arrows of each slice."""
    return sorted(
        (
            found.names[int(found.name[row])],
            int(found.rows.start[row]) + found.base_ns,
            int(found.rows.dur[row]),
            str(found.args(row)[0]),
            len(found.flows(row)),
        )
        for row in range(found.slice_count)
    )


@pytest.mark.parametrize("scanner", ["", "python"])
def test_a_trace_in_pieces_is_the_whole_trace(
    output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scanner: str
) -> None:
    monkeypatch.setenv(SCANNER_VARIABLE, scanner)
    found, problems = timeline(output, tmp_path / "out")
    whole, _ = timeline(next((FIXTURES / "results" / "msprof").rglob("mindstudio_profiler_output")), tmp_path / "whole")
    assert [one.code for one in problems] == ["unmatched_flow"] and shown(found) == shown(whole)
    assert sum(arrows for *_, arrows in shown(found)) > 0
    assert [(one["process"], one["name"]) for one in found.tracks] == [
        (one["process"], one["name"]) for one in whole.tracks
    ]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("damage", ["gone", "emptied", "no list", "cut"])
def test_a_damaged_piece_of_a_trace_is_skipped(output: Path, tmp_path: Path, damage: str, number: int) -> None:
    pieces = trace_pieces(output)
    damaged = pieces.pop(number)
    kept = [
        (event["name"], int(Decimal(event["ts"]) * 1000))
        for other in pieces
        for event in json.loads(other.read_text())
        if event["ph"] == "X"
    ]
    content = damaged.read_bytes()
    damaged.write_bytes({"no list": b'{"a": 1}', "cut": content[:-30]}.get(damage, b""))
    if damage == "gone":
        damaged.unlink()
    found, problems = timeline(output, tmp_path / "after")
    left = [row[:2] for row in shown(found)]
    assert not Counter(kept) - Counter(left)
    assert (len(left) > len(kept)) is (damage == "cut")
    assert any(one.code != "unmatched_flow" for one in problems) is (damage != "gone")


@pytest.mark.parametrize("scanner", ["", "python"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_problems_of_a_trace_in_pieces_name_the_piece(
    output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, scanner: str
) -> None:
    monkeypatch.setenv(SCANNER_VARIABLE, scanner)
    path = trace_pieces(output)[number]
    events = json.loads(path.read_text())
    row = max(row for row, event in enumerate(events) if event.get("args") and event["ph"] == "X")
    events[row]["dur"] = -5
    text = json.dumps(events)
    path.write_text(text[:-1] + ", 7]")
    found = {one.code: one for one in timeline(output, tmp_path / "out")[1] if one.code != "unmatched_flow"}
    assert found.keys() == {"incomplete_event", "bad_event"}
    assert {one.file for one in found.values()} == {path.name}
    assert found["bad_event"].where == f"byte {len(text) + 1}"


def packed(path: Path) -> Path:
    """A compressed file in its place."""
    other = path.with_name(path.name + ".gz")
    other.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return other


def test_packed_piece_that_was_cut_is_read_to_its_end(output: Path, tmp_path: Path) -> None:
    whole, _ = timeline(output, tmp_path / "whole")
    middle = [packed(path) for path in trace_pieces(output)][1]
    middle.write_bytes(middle.read_bytes()[: middle.stat().st_size // 2])
    found, problems = timeline(output, tmp_path / "after")
    assert [problem.code for problem in problems][:1] == ["file_cut"] and "slice_1" in problems[0].file
    assert whole.slice_count / 2 < found.slice_count < whole.slice_count


@pytest.mark.parametrize("pack", [False, True])
def test_joining_pieces_reports_progress(output: Path, monkeypatch: pytest.MonkeyPatch, pack: bool) -> None:
    """Of gigabytes it takes a while; it was told nothing until they were joined."""
    files = [packed(path) if pack else path for path in trace_pieces(output)]
    size = sum(path.stat().st_size for path in files)
    monkeypatch.setattr(pieces, "_BLOCK", 512)
    told: list[int] = []
    before: list[int] = []

    def scanned(*args: Any) -> Any:
        before.append(sum(told))
        return scan_trace(*args)

    monkeypatch.setattr(pieces, "scan_trace", scanned)
    READERS["msprof"].scan(files[0], ProblemLog(), told.append, MEMORY)
    assert before == [pytest.approx(size / 4, abs=2)] and sum(told) == size and min(told) > 0
    assert len(told) > 3, "it can be seen to move"


def test_doctor_shows_that_each_piece_was_read(output: Path) -> None:
    found = doctor.build(ViewInput([read(output)], {})).data["files"]
    states = {file["file"].rpartition("/")[2]: (file["state"], len(file["filled"])) for file in found}
    pieces = [state for name, state in states.items() if "op_summary_slice_" in name]
    assert pieces[0] == ("read", 1) and set(pieces[1:]) == {("read", 0)}


def test_damaged_iterations(output: Path) -> None:
    path = next(output.glob("step_trace_*.csv"))
    text = path.read_text()
    for cell in ("nan", "1e400", "x", "-1", ""):  # a duration that is invalid keeps its row
        path.write_text(text.replace(",0.300", f",{cell}"))
        assert read(output).rows("iterations") == 2, cell
    path.write_text("Device_id,Iteration\n0,1\n")
    span = read(output)
    assert codes(span) == {"missing_column"} and span.rows("iterations") is None
