"""Legacy MindSpore results: one span a rank, whatever the layout."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery.model import FoundRun
from tb_npu_plugin.discovery.scan import scan

RESULTS = Path(__file__).parents[3] / "fixtures" / "results"
STEP_TRACE = "step_num,start_point,end_point,fp_point\n1,0,10,0\n"


def runs(folder: Path) -> tuple[FoundRun, ...]:
    return scan({"": folder}).runs


def ranks(folder: Path) -> dict[int | None, tuple[str, int]]:
    [run] = runs(folder)
    return {worker.rank: (worker.rank_source, len(worker.spans[0].files)) for worker in run.workers}


def test_a_flat_folder_holds_one_span_a_rank() -> None:
    [run] = runs(RESULTS / "mindinsight_cluster")
    assert run.label == "mindinsight_cluster"
    assert [worker.label for worker in run.workers] == ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert {span.format for worker in run.workers for span in worker.spans} == {"mindinsight"}
    names = [file.relative for file in run.workers[2].spans[0].files]
    assert len(names) == 7
    assert all("_2." in name or "_2_" in name for name in names)


def test_ranks_of_hosts_come_from_the_rank_table() -> None:
    # Named by the numbers of host_ips_mapping.txt, which hides their addresses.
    [run] = runs(RESULTS / "mindinsight_hosts")
    found = [(worker.rank, worker.rank_source, worker.host) for worker in run.workers]
    assert found == [
        (0, "hccl.json", "host 2"),
        (1, "hccl.json", "host 2"),
        (2, "hccl.json", "host 1"),
        (3, "hccl.json", "host 1"),
    ]
    assert run.workers[2].spans[0].files[0].relative == "cluster_profiler/1/profiler/step_trace_raw_0_detail_time.csv"


def test_ranks_without_a_table_are_assumed_and_reported_to_be() -> None:
    [run] = runs(RESULTS / "mindinsight_hosts_assumed")
    assert [worker.rank for worker in run.workers] == [0, 1, 8, 9]
    assert {worker.rank_source for worker in run.workers} == {"assumed from the order of the hosts"}
    assert [note.code for worker in run.workers for note in worker.spans[0].notes] == ["assumed_rank"] * 4


@pytest.mark.parametrize(
    "table", [b"[1, 2", b"[]", b'{"server_list": [3, {"device": [{"device_id": "x", "rank_id": 1}]}]}', b"\xff" * 9]
)
def test_a_broken_rank_table_is_ignored(tmp_path: Path, table: bytes) -> None:
    folder = tmp_path / "cluster_profiler" / "1" / "profiler"
    folder.mkdir(parents=True)
    (folder / "step_trace_raw_5_detail_time.csv").write_text(STEP_TRACE)
    (tmp_path / "hccl.json").write_bytes(table)
    assert ranks(tmp_path) == {5: ("assumed from the order of the hosts", 1)}


def test_folders_side_by_side_that_hold_the_same_rank_are_different_jobs(tmp_path: Path) -> None:
    """ "5 of 4 ranks profiled": a rank of another job was judged with them."""
    shutil.copytree(RESULTS / "mindinsight_cluster" / "profiler", tmp_path / "job" / "cluster_propose")
    (tmp_path / "job" / "profiler").mkdir()
    (tmp_path / "job" / "profiler" / "step_trace_raw_0_detail_time.csv").write_text(STEP_TRACE)
    found = {run.label: [worker.rank for worker in run.workers] for run in runs(tmp_path)}
    assert found == {"job/cluster_propose": [0, 1, 2, 3], "job/profiler": [0]}
