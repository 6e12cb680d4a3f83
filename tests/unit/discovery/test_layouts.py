"""Runs and workers that names of folders and files give, for every kind of result."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan
from tests.support.fixtures import FIXTURES
from tests.unit.store.results import NAME, write_result

PROF = "PROF_000001_20250615070000123_ABCDEFGHIJKLMNOP"
MS = "node0_31780_20250615070000123_ascend_ms"


def tree(found: Scan) -> dict[str, dict[str, list[str]]]:
    """{run: {worker: [folder names]}}."""
    return {
        run.label: {worker.label: [span.folder.name for span in worker.spans] for worker in run.workers}
        for run in found.runs
    }


def trace(path: Path, **head: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps({"schemaVersion": 1, **head, "traceEvents": []}).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def prof(folder: Path, *names: str) -> None:
    """An export of msprof with these files."""
    (folder / "mindstudio_profiler_output").mkdir(parents=True)
    (folder / "device_3").mkdir()
    for name in names or ("op_summary_20250615070512.csv",):
        (folder / "mindstudio_profiler_output" / name).write_text("Op Name\n")


def mindspore(folder: Path) -> None:
    shutil.copytree(FIXTURES / "results" / "mindspore_two_ranks" / MS, folder)


@pytest.mark.parametrize(
    ("make", "place", "run", "worker", "rank"),
    [
        (write_result, NAME, "logs", "rank 0 · host1_4242", 0),
        (write_result, f"a/b/c/{NAME}", "a/b/c", "rank 0 · host1_4242", 0),
        (write_result, "exp/rank0_ascend_pt", "exp", "rank 0", 0),
        (write_result, "exp/train_rank0_ascend_pt", "exp", "rank 0 · train_rank0", 0),
        (write_result, f"exp/rank_0/{NAME}", "exp", "rank 0 · host1_4242", 0),
        (write_result, f"exp/rank0_start2_stop5/{NAME}", "exp", "rank 0 · host1_4242", 0),
        (write_result, "exp/rank_0", "exp", "rank 0", 0),
        (write_result, f"exp/node1/rank_0/{NAME}", "exp", "rank 0 · node1/host1_4242", 0),
        (write_result, "exp/node1/rank0_ascend_pt", "exp", "rank 0 · node1", 0),
        (write_result, f"exp/node1/{NAME}", "exp/node1", "rank 0 · host1_4242", 0),
        (write_result, "exp/host1_7_20250109154804_ascend_ms", "exp", "rank 0 · host1_7", 0),
        (write_result, "exp/noname_ascend_pt", "exp", "rank 0 · noname", 0),
        (write_result, "exp/logs/my copy", "exp/logs", "rank 0", 0),
        (write_result, f"rank4_lora/{NAME}", "rank4_lora", "rank 0 · host1_4242", 0),
        (mindspore, f"output/profile/rank_0/profiler/{MS}", "output/profile", "rank 0 · node0_31780", 0),
        (mindspore, f"exp/profiler/{MS}", "exp/profiler", "rank 0 · node0_31780", 0),  # nothing says one of several
        (prof, f"exp/{PROF}", "exp", "device 3", None),
        (prof, f"exp/rank_5/{PROF}", "exp", "rank 5 · device 3", 5),
        (prof, PROF, "logs", "device 3", None),
        (trace, "exp/host1_42.1795264098085000123.pt.trace.json", "exp", "host1_42", None),
        (trace, "exp/host1_42.1795264098085.pt.trace.json.gz", "exp", "host1_42", None),
        (trace, "exp/rank3.1795264098085.pt.trace.json", "exp", "rank 3", 3),
        (trace, "exp/rank_2/host1_42.1795264098085.pt.trace.json", "exp", "rank 2 · host1_42", 2),
        (trace, "exp/trace_rank_1.json", "exp", "rank 1", 1),
        (trace, "exp/my.pt.trace.json", "exp", "my", None),
        (trace, "exp/anything.json.gz", "exp", "worker", None),
        (trace, "host1_42.1795264098085.pt.trace.json", "logs", "host1_42", None),
    ],
)
def test_run_and_worker_of_every_layout(
    tmp_path: Path, make: Callable[[Path], object], place: str, run: str, worker: str, rank: int | None
) -> None:
    path = tmp_path / "logs" / place
    make(path)
    found = scan({"": tmp_path / "logs"})
    assert tree(found) == {run: {worker: [path.parent.name if make is trace else path.name]}}
    assert (found.runs[0].workers[0].rank, found.skipped) == (rank, ())


@pytest.mark.parametrize("below", ["", "ASCEND_PROFILER_OUTPUT"])
def test_the_result_folder_itself_is_a_logdir(tmp_path: Path, below: str) -> None:
    write_result(tmp_path / "exp" / NAME)
    assert tree(scan({"": tmp_path / "exp" / NAME / below})) == {"exp": {"rank 0 · host1_4242": [NAME]}}


def test_names_of_a_logdir_spec_come_before_the_runs(tmp_path: Path) -> None:
    write_result(tmp_path / "one" / NAME)
    write_result(tmp_path / "two" / "sub" / NAME)
    found = scan({"a": tmp_path / "one", "b": tmp_path / "two"})
    assert list(tree(found)) == ["a", "b/sub"]
    assert len({run.token for run in found.runs}) == 2


def test_rank_comes_from_file_name_then_rank_id_then_folder(tmp_path: Path) -> None:
    write_result(tmp_path / "rank_1" / "a_1_20250109150000000_ascend_pt", rank=9)
    by_id = write_result(tmp_path / "rank_2" / "b_2_20250109150000000_ascend_pt", rank=None)
    (by_id / "profiler_info.json").write_text(json.dumps({"rank_id": "8"}))
    write_result(tmp_path / "rank_3" / "c_3_20250109150000000_ascend_pt", rank=None)
    write_result(tmp_path / "d_4_20250109150000000_ascend_pt", rank=None)
    trace(tmp_path / "rank9" / "e_5.1736434800000.pt.trace.json", distributedInfo={"rank": 5, "world_size": 16})
    workers = scan({"": tmp_path}).runs[0].workers
    assert [(worker.rank, worker.rank_source, worker.host, worker.pid) for worker in workers] == [
        (3, "folder name", "c", 3),
        (5, "distributedInfo", "e", 5),
        (8, "rank_id", "b", 2),
        (9, "profiler_info_9.json", "a", 1),
        (None, "", "d", 4),
    ]


@pytest.mark.parametrize(
    "content", ['{"rank_id": "' + "9" * 5000 + '"}', "[" * 100_000, '{"rank_id": 7}' + " " * (4 << 20)]
)
def test_a_hostile_profiler_info_does_not_stop_the_scan(tmp_path: Path, content: str) -> None:
    # int() refuses thousands of digits and json thousands of levels, by errors that ended the scan of everything.
    folder = write_result(tmp_path / "exp" / NAME, rank=None)
    (folder / "profiler_info.json").write_text(content)
    (place,) = scan({"": tmp_path}).places()
    assert place.worker.rank is None
