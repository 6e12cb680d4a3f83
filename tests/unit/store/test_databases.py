"""Database exports through discovery, worker and store: text first, databases for what text lacks."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.watch import Watcher
from tb_npu_plugin.store.cache.disk import Cache
from tb_npu_plugin.store.library import Library
from tb_npu_plugin.store.span import Span
from tb_npu_plugin.store.stages import stages_of
from tb_npu_plugin.views.availability import facts_of_span, missing_data, view_states
from tb_npu_plugin.views.overview import capture_json
from tests.support.mock import run
from tests.unit.store.results import settle

PROFILER, ANALYSIS = "ascend_pytorch_profiler_0.db", "analysis.db"


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Path]:
    """Folder for results."""
    (tmp_path / "logs").mkdir()
    yield tmp_path / "logs"


def result(logs: Path, name: str) -> Path:
    """A copy of a run of one rank; its ASCEND_PROFILER_OUTPUT."""
    (folder,) = run(name)[0].glob("*_ascend_pt")
    return Path(shutil.copytree(folder, logs / folder.name)) / "ASCEND_PROFILER_OUTPUT"


def opened(logs: Path) -> Span:
    """The one span, read."""
    settle(logs)
    return read(logs)


def read(logs: Path) -> Span:
    """The same, of files as old as they are."""
    library = Library(Watcher({"": logs}, background=False), Cache(logs.parent / "cache"), workers=1)
    try:
        library.watcher.update()
        (place,) = library.scan().places()
        for stage in stages_of(place.span):
            library.read([place], [stage])
        return library.open(place)
    finally:
        library.close()


def test_databases_alone(logs: Path) -> None:
    output = result(logs, "db_only")
    before = sorted(path.name for path in output.iterdir())
    span = opened(logs)
    assert span.problems == []
    assert span.rows("kernels") and span.source("kernels") == PROFILER
    assert span.rows("step_trace") == 2 and span.source("step_trace") == ANALYSIS
    assert span.label.endswith("steps 11-12")
    assert span.capture.rank == 0 and span.capture.device_name == "Ascend910B2"
    assert span.capture.environment and span.capture.simulated
    (analysis, profiler) = capture_json(span)["databases"]
    assert analysis == {"file": ANALYSIS, "tables": ["Step trace time"]}
    assert profiler["tables"][0] == "Kernels" and profiler["tables"][-1] == "Trace"
    available = {state["id"] for state in view_states(facts_of_span(span)) if state["available"]}
    assert {"overview", "kernel", "operator", "memory"} <= available
    assert sorted(path.name for path in output.iterdir()) == before


def test_text_first(logs: Path) -> None:
    output = result(logs, "both_level2")
    lost = {"kernel_details.csv", "op_statistic.csv", "step_trace_time.csv"}
    for name in lost:
        (output / name).unlink()
    span = opened(logs)
    assert span.problems == []
    assert span.source("operators") == "operator_details.csv" and span.source("memory_record") == "memory_record.csv"
    assert span.source("kernels") == span.source("op_statistic") == PROFILER
    assert span.source("step_trace") == ANALYSIS
    assert not {entry["file"] for entry in missing_data(facts_of_span(span))} & lost
    assert capture_json(span)["databases"] == [
        {"file": ANALYSIS, "tables": ["Step trace time"]},
        {"file": PROFILER, "tables": ["Kernels", "Operator statistic"]},
    ]


def test_a_broken_database_is_named(logs: Path) -> None:
    output = result(logs, "db_only")
    (output / PROFILER).write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    span = opened(logs)
    assert span.rows("step_trace") == 2
    assert {problem.file for problem in span.problems} == {f"ASCEND_PROFILER_OUTPUT/{PROFILER}"}
    states = {state["id"]: state for state in view_states(facts_of_span(span))}
    assert not states["kernel"]["available"] and states["kernel"]["reason"].startswith(
        f"{PROFILER} exists, but nothing"
    )


def test_rows_in_a_log_are_noticed(logs: Path) -> None:
    """A writer in WAL mode leaves the file itself as it is for a long time."""
    output = result(logs, "db_only")
    connection = sqlite3.connect(output / PROFILER)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.commit()
        settle(logs)
        assert read(logs).rows("kernels")
        status = (output / PROFILER).stat()
        connection.execute(
            "UPDATE STRING_IDS SET value='named_in_the_log' WHERE id=(SELECT name FROM COMPUTE_TASK_INFO)"
        )
        connection.commit()
        assert (output / PROFILER).stat().st_mtime_ns == status.st_mtime_ns
        written = status.st_mtime_ns + 1_000_000_000
        os.utime(output / f"{PROFILER}-wal", ns=(written, written))
        span = read(logs)
    finally:
        connection.close()
    assert "named_in_the_log" in span.table("kernels").text("name").values
