"""Columns in files, what was read so far, threads, and files that change while they are read."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tb_npu_plugin.errors import BadSetting
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import ScanSink, TraceEvents, scan_trace, source
from tb_npu_plugin.scan.events import DTYPES, TEXT_COLUMNS
from tests.support.scanners import both_scanners, needs_native

if TYPE_CHECKING:
    from tb_npu_plugin.scan._native import Walker

THREADS_VARIABLE = "TB_NPU_SCAN_THREADS"
pytestmark = both_scanners

COUNT = 5000
EVENTS = [
    {"ph": "X", "name": f"op {i} }}, {{", "cat": "c", "pid": i % 3, "ts": f"{i}.500", "args": {"calls": [{"n": i}, {}]}}
    for i in range(COUNT)
]


@pytest.fixture(params=["1", "3"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both with one thread and with three; the scanner in Python has one in either case."""
    monkeypatch.setenv(THREADS_VARIABLE, request.param)
    return str(request.param)


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str) -> Path:
    """A file of many blocks that was written some time ago."""
    monkeypatch.setattr(source, "CHUNK", 16 << 10)
    monkeypatch.setattr(source, "_GZIP_READ", 16 << 10)
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(EVENTS))
    os.utime(path, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    return path


def assert_begins_with(whole: TraceEvents, part: TraceEvents) -> None:
    """The rows and texts of `part` are the first of `whole`."""
    for key in DTYPES:
        np.testing.assert_array_equal(getattr(part, key), getattr(whole, key)[: len(part)], key)
    for name in TEXT_COLUMNS.values():
        texts = getattr(part, name)
        assert list(texts) == getattr(whole, name)[: len(texts)], name


def test_spooled_columns_are_those_in_memory(trace: Path, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    log = ProblemLog()
    spooled = scan_trace(trace, log, lambda _: None, ScanSink(spool=spool))
    memory = scan_trace(trace, log, lambda _: None)
    assert len(spooled) == len(memory) == COUNT and log.list() == []
    assert_begins_with(memory, spooled)
    for key in DTYPES:
        column = getattr(spooled, key)
        assert isinstance(column, np.memmap) and not column.flags.writeable
        assert not isinstance(getattr(memory, key), np.memmap)


@pytest.mark.parametrize("spooled", [False, True])
@pytest.mark.parametrize("zipped", [False, True])
def test_peeks_at_the_events_so_far(trace: Path, tmp_path: Path, spooled: bool, zipped: bool) -> None:
    if zipped:
        trace.write_bytes(gzip.compress(trace.read_bytes(), 0))
    size, seen, blob = trace.stat().st_size, [], io.BytesIO()
    at = (size // 10, size // 10 + 1, size // 3, 2 * size)

    def peek(events: TraceEvents) -> None:
        assert not events.complete
        seen.append(events)

    spool = tmp_path if spooled else None
    whole = scan_trace(trace, ProblemLog(), lambda _: None, ScanSink(blob, spool, peek, at))
    assert [len(events) * 100 // COUNT for events in seen] == pytest.approx([10, 33], abs=4)
    for events in seen:
        assert_begins_with(whole, events)
        assert events.bytes_read <= whole.bytes_read and events.args_path == whole.args_path


def test_all_bytes_are_reported(trace: Path) -> None:
    trace.write_text('{"traceEvents": ' + json.dumps(EVENTS) + ', "more": "' + "x" * 100_000 + '"}')
    told: list[int] = []
    events = scan_trace(trace, ProblemLog(), told.append)
    assert (len(events), sum(told), events.complete) == (COUNT, trace.stat().st_size, True)


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text(json.dumps(EVENTS))
    other.rename(path)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 3)
        file.write(b'"}]{,\x00\xff' * 20_000)


CHANGES: dict[str, Callable[[Path], object]] = {
    "shortened": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "grown": lambda path: os.truncate(path, path.stat().st_size + 100_000),
    "replaced": replace,
    "overwritten": overwrite,
    "removed": Path.unlink,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_read(change: str, trace: Path) -> None:
    """It is a Problem and no crash, and what was read before is kept."""
    changed: list[int] = []

    def progress(count: int) -> None:
        if len(changed) == 2:
            CHANGES[change](trace)
        changed.append(count)

    log = ProblemLog()
    events = scan_trace(trace, log, progress)
    codes = {problem.code for problem in log.list()}
    assert codes & {"file_changed", "unreadable_file"}
    assert len(events) >= COUNT // 50
    assert [events.names[code] for code in events.name[:50].tolist()] == [event["name"] for event in EVENTS[:50]]
    if change in ("grown", "replaced"):
        assert len(events) == COUNT
    if change in ("shortened", "emptied"):
        assert not events.complete and "truncated_file" in codes


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_an_error_in_progress_ends_the_scan(error: type[BaseException], trace: Path) -> None:
    """A closed pipe means that the server is gone: it is no error of the trace."""

    def cancel(_: int) -> None:
        raise error

    log = ProblemLog()
    with pytest.raises(error):
        scan_trace(trace, log, cancel)
    assert log.list() == []


def test_an_error_of_the_spool_is_not_one_of_the_trace(trace: Path, tmp_path: Path) -> None:
    log = ProblemLog()
    with pytest.raises(OSError, match="gone"):
        scan_trace(trace, log, lambda _: None, ScanSink(spool=tmp_path / "gone"))
    assert log.list() == []


@needs_native
def test_the_caller_is_one_of_the_threads(
    trace: Path, scanner: str, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a thread more than cores, the system suspends one for whose block the others wait."""
    if scanner == "python" or threads == "1":
        return
    from tb_npu_plugin.scan.blocks import Block, Blocks

    load, caller, called, others = Blocks._load, threading.get_ident(), threading.Event(), set()

    def noted(self: Blocks, walker: Walker, first: int) -> Block:
        if threading.get_ident() == caller:
            called.set()
        else:
            others.add(threading.get_ident())
            assert called.wait(20)
        return load(self, walker, first)

    monkeypatch.setattr(Blocks, "_load", noted)
    assert len(scan_trace(trace, ProblemLog(), lambda _: None)) == COUNT
    assert len(others) <= int(threads) - 1


@needs_native
def test_an_error_in_a_block_ends_the_trace_there(trace: Path, scanner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if scanner == "python":
        return
    from tb_npu_plugin.scan.blocks import Block, Blocks

    load = Blocks._load

    def fail(self: Blocks, walker: Walker, first: int) -> Block:
        if first >= 10 * source.CHUNK:
            raise OSError("stale")
        return load(self, walker, first)

    monkeypatch.setattr(Blocks, "_load", fail)
    log = ProblemLog()
    events = scan_trace(trace, log, lambda _: None)
    assert 0 < len(events) < COUNT and not events.complete
    assert "unreadable_file" in {problem.code for problem in log.list()}


@pytest.mark.parametrize("wanted", ["0", "-1", "many", "1.5"])
def test_threads_are_a_positive_number(wanted: str, trace: Path, scanner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, wanted)
    if scanner == "python":  # it has one thread, and asks nobody how many
        assert len(scan_trace(trace, ProblemLog(), lambda _: None)) == COUNT
        return
    with pytest.raises(BadSetting, match=wanted):
        scan_trace(trace, ProblemLog(), lambda _: None)
