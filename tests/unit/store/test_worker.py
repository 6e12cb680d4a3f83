"""The worker process: protocol, bad files, rows at times that cannot be right, how its end is reported."""

from __future__ import annotations

import ast
import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.discovery.model import FoundFile
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text import reader as text
from tb_npu_plugin.store.cache.disk import reader_sources, reader_version
from tb_npu_plugin.store.pool import worker
from tb_npu_plugin.store.pool.process import RequestFailed, WorkerProcess
from tb_npu_plugin.store.stages import SHORT_FILE, Request, files_of
from tb_npu_plugin.store.tables.short import read_short
from tb_npu_plugin.store.timeline import build as timeline_build
from tb_npu_plugin.tables import NULL_INT, Table
from tests.conftest import ROOT
from tests.support.fixtures import FIXTURES
from tests.unit.discovery.test_watch import until
from tests.unit.store.results import KERNELS, NAME, write_result

#: Folders whose modules read results and write entries.
READING = ("schema", "discovery", "scan", "readers", "store")
#: What they import without effect on entries. The version in __init__.py is hashed by itself.
NOT_IN_ENTRIES = (
    "__init__.py",
    "analysis/kernels/meaning.py",
    "csv_tables.py",
    "errors.py",
    "gc_pause.py",
    "installation.py",
    "refusal.py",
    "schema/chips.py",
    "schema/dialects.py",
    "schema/kernel_meaning.py",
    "user_cache.py",
)


def request(tmp_path: Path, **content: Any) -> Request:
    write_result(tmp_path / "logs" / NAME, **content)
    (place,) = scan({"": tmp_path / "logs"}).places()
    (tmp_path / "out").mkdir()
    return Request("tables", place.span.folder, files_of(place.span, "tables"), tmp_path / "out")


def rows_of(meta: dict[str, Any]) -> dict[str, int]:
    """Rows of each table in the index."""
    return {name: table["rows"] for name, table in meta["tables"].items()}


def test_meta_has_rows_times_steps_and_progress(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    asked = request(tmp_path, rank=3)
    meta = json.loads(json.dumps(worker.run(asked, said.append)))
    assert rows_of(meta) == {"kernels": 2, "step_trace": 1}
    assert meta["start_ns"] == 1736408883704643212 and meta["steps"] == ["7"]
    assert meta["device_ns"] == [1736408883704643212, 1736408883704710251]
    assert meta["kernel_types"] == {"MatMul": 0.745, "Add": 0.255}
    assert meta["capture"]["rank"] == 3 and meta["problems"] == [] and meta["changed"] == []
    assert [message["file"] for message in said] == [file.relative for file in asked.files]
    counts = [message["bytes"] for message in said]
    assert counts == sorted(counts) and counts[-1] <= sum(file.size for file in asked.files)


def test_meta_has_the_files_of_each_table(tmp_path: Path) -> None:
    """Doctor said that five files of six were not needed, and sources were names of files with <rank> in them."""
    (place,) = scan({"": FIXTURES / "results" / "mindinsight_single"}).places()
    asked = Request("tables", place.span.folder, files_of(place.span, "tables"), tmp_path, format=place.span.format)
    meta = json.loads(json.dumps(worker.run(asked, lambda message: None)))
    files = {name: table["files"] for name, table in meta["tables"].items()}
    assert {name: found for name, found in files.items() if len(found) > 1} == {
        "op_statistic": {"aicore_intermediate_0_type.csv": 12, "aicpu_intermediate_0.csv": 3},
        "op_totals": {"aicore_intermediate_0_detail.csv": 145, "framework_raw_0.csv": 144, "flops_0.txt": 21},
        "minddata_batches": {"device_queue_profiling_0.txt": 20, "minddata_aicpu_0.txt": 20},
    }
    assert next(iter(files["op_statistic"])) == "aicore_intermediate_0_type.csv"
    assert next(iter(files["op_totals"])) == "aicore_intermediate_0_detail.csv"
    assert next(iter(files["minddata_batches"])) == "device_queue_profiling_0.txt"
    assert not any(name.startswith("_") for name in files)


@pytest.mark.parametrize(("part", "ranks"), [("1", 1), ("", 2)])
def test_a_span_of_a_shared_file_has_the_rows_of_its_part(tmp_path: Path, part: str, ranks: int) -> None:
    (place, _) = scan({"": FIXTURES / "recorded" / "cluster_text"}).places()
    asked = Request("tables", place.span.folder, files_of(place.span, "tables"), tmp_path, place.span.format, part)
    _, tables, problems = results_of(asked)
    steps = tables["step_trace"]
    assert (len(steps), steps.has("rank")) == (ranks, not part) and problems == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadFile("it is no CSV", "Export again."), "bad_file"),
        (PermissionError(13, "Permission denied"), "no_permission"),
        (FileNotFoundError(2, "No such file"), "missing_file"),
        (OSError(5, "Input/output error"), "unreadable_file"),
        (ValueError("a defect of ours"), "reader_defect"),
    ],
)
def test_a_file_that_cannot_be_read_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    real = text.read_file

    def read_file(reading: Reading) -> Any:
        if reading.name == "step_trace_time.csv":
            raise error
        return real(reading)

    monkeypatch.setattr(text, "read_file", read_file)
    asked = request(tmp_path)
    meta = worker.run(asked, lambda message: None)
    assert list(meta["tables"]) == ["kernels"]
    (problem,) = meta["problems"]
    assert (problem["code"], problem["file"]) == (code, "ASCEND_PROFILER_OUTPUT/step_trace_time.csv")
    assert problem["lost"] and problem["action"]


def test_a_defect_in_reading_the_settings_does_not_cost_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_capture(folder: Path, files: Sequence[str], log: ProblemLog) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(text, "read_capture", read_capture)
    meta = worker.run(request(tmp_path), lambda message: None)
    assert rows_of(meta) == {"kernels": 2, "step_trace": 1} and meta["capture"]["rank"] is None
    assert [(item["code"], item["file"]) for item in meta["problems"]] == [("reader_defect", "profiler_info_0.json")]


@pytest.mark.parametrize("part", ["read_operators", "write_slices"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_part_of_the_timeline_that_fails_is_reported(
    part: str, error: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operators are read by a thread of their own. A full disk of ours is no property of the file."""

    def fails(*args: Any) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(timeline_build, part, fails)
    trace = json.dumps([{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}])
    asked = request(tmp_path, trace=trace)
    file = FoundFile("ASCEND_PROFILER_OUTPUT/trace_view.json", len(trace), 0)
    asked = Request("trace", asked.folder, (file,), asked.out)
    if error == errno.ENOSPC:
        with pytest.raises(OSError, match="No space left"):
            worker.run(asked, lambda message: None)
        return
    meta = worker.run(asked, lambda message: None)
    assert not meta["timeline"]
    told = [(one["code"], one["found"]) for one in meta["problems"] if one["code"] != "file_changed"]
    assert told == [("unreadable_file", os.strerror(error))]


def test_problems_of_a_trace_in_pieces_tell_which_piece(tmp_path: Path) -> None:
    source = FIXTURES / "results" / "msprof_pieces"
    logdir = Path(shutil.copytree(source, tmp_path / "logs"))
    (piece,) = logdir.rglob("msprof_slice_1_*.json")
    piece.write_bytes(b"")
    (place,) = scan({"": logdir}).places()
    (tmp_path / "out").mkdir()
    asked = Request("trace", place.span.folder, place.span.trace_files, tmp_path / "out", place.span.format)
    meta = worker.run(asked, lambda message: None)
    problem = meta["problems"][0]
    assert (problem["code"], problem["file"]) == ("empty_file", f"mindstudio_profiler_output/{piece.name}")


def test_lack_of_memory_is_not_taken_for_a_bad_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_file(*arguments: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(text, "read_file", read_file)
    with pytest.raises(MemoryError):
        worker.run(request(tmp_path), lambda message: None)


def test_a_file_that_changes_while_it_is_read_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(tmp_path)
    real = text.read_file

    def read_file(reading: Reading) -> Any:
        os.utime(reading.path, ns=(1, 1))
        return real(reading)

    monkeypatch.setattr(text, "read_file", read_file)
    changed = worker.run(asked, lambda message: None)["changed"]
    assert sorted(changed) == [
        f"ASCEND_PROFILER_OUTPUT/{name}" for name in ("kernel_details.csv", "step_trace_time.csv")
    ]


def test_a_failure_is_reported_with_its_traceback_and_the_process_goes_on(tmp_path: Path) -> None:
    process = WorkerProcess()
    asked = request(tmp_path)
    with pytest.raises(RequestFailed, match="out-that-is-not-there") as failure:
        process.run(Request("tables", asked.folder, asked.files, tmp_path / "out-that-is-not-there"), lambda m: None)
    assert "Traceback" in failure.value.trace
    assert rows_of(process.run(asked, lambda message: None))["kernels"] == 2
    process.close()


def test_a_worker_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    server = (
        "from tb_npu_plugin.store.pool.process import WorkerProcess; import time\n"
        "print(WorkerProcess()._child.pid, flush=True); time.sleep(600)"
    )
    killed = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    worker_id = int(killed.stdout.readline())
    assert Path(f"/proc/{worker_id}").exists()
    killed.kill()
    killed.wait()
    assert until(lambda: not Path(f"/proc/{worker_id}/exe").exists())
    killed.stdout.close()


def test_what_prints_does_not_get_between_the_lines(tmp_path: Path) -> None:
    noisy = (
        "import tb_npu_plugin.readers.text.reader as r; old = r.read_file\n"
        "def read_file(*a): print('noise'); import os; os.write(1, b'raw noise'); return old(*a)\n"
        "r.read_file = read_file\n"
        "from tb_npu_plugin.store.pool.worker import main; main()"
    )
    line = json.dumps(request(tmp_path).as_json()) + "\n"
    done = subprocess.run([sys.executable, "-c", noisy], input=line, capture_output=True, text=True, check=True)
    messages = [json.loads(item) for item in done.stdout.splitlines()]
    assert "meta" in messages[-1] and "noise" in done.stderr


def test_the_version_follows_the_sources_that_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tb_npu_plugin

    copy = tmp_path / "tb_npu_plugin"
    shutil.copytree(Path(tb_npu_plugin.__file__).parent, copy, ignore=shutil.ignore_patterns("static", "__pycache__"))
    monkeypatch.setattr(tb_npu_plugin, "__file__", str(copy / "__init__.py"))

    def version() -> str:
        reader_version.cache_clear()
        return reader_version()

    before = version()
    for other in ("views/overview.py", "analysis/findings/straggler.py", "messages.json"):
        (copy / other).write_text("{}")
    assert version() == before
    for part in (
        "schema/core.py",
        "units.py",
        "readers/text/reader.py",
        "store/tables/database.py",
        "analysis/packing.py",
        "discovery/identity.py",
    ):
        with (copy / part).open("a") as source:
            source.write("# changed\n")
        after = version()
        assert after != before
        before = after
    reader_version.cache_clear()


@pytest.mark.slow
def test_the_version_covers_all_that_reading_imports() -> None:
    """Adapt _PARTS when it fails."""
    package = ROOT / "tb_npu_plugin"
    todo = [path for folder in READING for path in (package / folder).rglob("*.py")]
    found: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in found and path.exists():
            found.add(path)
            todo += imports_of(path)
    hashed = {path for path in reader_sources(package) if path.suffix == ".py"}
    assert {path for path in found - hashed if has_code(path)} == {package / name for name in NOT_IN_ENTRIES}
    assert hashed - found == set()


def imports_of(path: Path) -> Iterator[Path]:
    """Files of the package that this one may import, and some that do not exist."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in (f"{module}{alias.name}" for alias in node.names):
                at = ROOT.joinpath(*name.split("."))
                parents = list(at.parents)[: name.count(".")]
                yield from (each.with_suffix(".py") for each in (at, *parents))
                yield from (each / "__init__.py" for each in (at, *parents))


def has_code(path: Path) -> bool:
    """False if a file holds no more than its docstring."""
    return len(ast.parse(path.read_text(encoding="utf-8")).body) > 1


FIRST = 1736408883704643212
HEADER, *ROWS = KERNELS.splitlines(keepends=True)


def results_of(asked: Request) -> tuple[dict[str, Any], dict[str, Table], list[Problem]]:
    meta = json.loads(json.dumps(worker.run(asked, lambda message: None)))
    return (
        meta,
        {name: read_short(asked.out / SHORT_FILE, name) for name in meta["tables"]},
        [Problem.from_json(one) for one in meta["problems"]],
    )


def kernels(*more: str) -> dict[str, str]:
    return {"kernel_details.csv": "".join([HEADER, *ROWS, *more])}


@pytest.mark.parametrize("start", ["1.0", "172163581670.080", "2736408883704643.000", "736408883704643.212"])
def test_a_row_far_off_is_skipped(start: str, tmp_path: Path) -> None:
    stray = f"7,aclnnAdd_Add,Add,AI_VECTOR_CORE,{start}\t,3.5,0,8\r\n"
    meta, tables, problems = results_of(request(tmp_path, files=kernels(stray)))
    assert meta["start_ns"] == FIRST and tables["kernels"].ints("start_ns").tolist() == [FIRST, 1736408883704700001]
    (problem,) = problems
    assert (problem.code, problem.count, problem.where) == ("outside_recording", 1, "Start Time(us)")
    assert problem.file.endswith("kernel_details.csv")
    assert problem.found == f"{round(float(start.split('.')[0])) * 1000 + int((start + '.0').split('.')[1])} ns"


def test_end_far_off_loses_its_row(tmp_path: Path) -> None:
    endless = f"7,aclnnAdd_Add,Add,AI_VECTOR_CORE,1736408883704643.212\t,{2 * 10**12},0,8\r\n"
    _, tables, problems = results_of(request(tmp_path, files=kernels(endless)))
    assert len(tables["kernels"]) == 2
    assert [(one.code, one.where, one.found) for one in problems] == [
        ("outside_recording", "Duration(us)", f"{2 * 10**15} ns")
    ]


def test_a_release_far_off_is_unknown(tmp_path: Path) -> None:
    header = "Name,Size(KB),Allocation Time(us),Release Time(us)\r\n"
    rows = [
        f"aten::add,1,173640888370464{number}.0\t,{free}\t\r\n"
        for number, free in enumerate((1736408883704650.0, 5, ""))
    ]
    files = {**kernels(), "operator_memory.csv": header + "".join(rows)}
    _, tables, problems = results_of(request(tmp_path, files=files))
    memory = tables["op_memory"]
    assert memory.ints("alloc_ns").tolist() == [1736408883704640000 + 1000 * number for number in range(3)]
    assert memory.ints("release_ns").tolist() == [1736408883704650000, NULL_INT, NULL_INT]
    assert [(one.code, one.where) for one in problems] == [("bad_cell", "Release Time(us)")]


def test_a_table_of_another_clock_stays(tmp_path: Path) -> None:
    """Times since the start of the machine: what was recorded is right, and the list begins with the others."""
    header = "Name,Size(KB),Allocation Time(us)\r\n"
    rows = [f"aten::add,1,17216358167{number}.0\t\r\n" for number in range(2)]
    more = [ROWS[-1].replace("aclnn", f"{number}") for number in range(4)]
    meta, tables, problems = results_of(
        request(tmp_path, files={**kernels(*more), "operator_memory.csv": header + "".join(rows)})
    )
    assert len(tables["op_memory"]) == 2 and problems == [] and meta["start_ns"] == FIRST
