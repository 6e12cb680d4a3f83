"""Which folders become which runs, workers and spans, and what is said of the others."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import scan as scan_module
from tb_npu_plugin.discovery.model import Scan
from tb_npu_plugin.discovery.scan import scan
from tests.unit.store.results import NAME, write_result


def tree(found: Scan) -> dict[str, dict[str, list[str]]]:
    """{run: {worker: [folder names]}}."""
    return {
        run.label: {worker.label: [span.folder.name for span in worker.spans] for worker in run.workers}
        for run in found.runs
    }


def reasons(found: Scan) -> dict[str, str]:
    return {item.path: item.reason for item in found.skipped}


@pytest.mark.parametrize(
    ("place", "run", "worker"),
    [
        (NAME, "logs", "rank 0 · host1_4242"),
        (f"a/b/c/{NAME}", "a/b/c", "rank 0 · host1_4242"),
        ("exp/rank0_ascend_pt", "exp", "rank 0"),
        ("exp/rank_0_ascend_pt", "exp", "rank 0"),
        ("exp/train_rank0_ascend_pt", "exp", "rank 0 · train_rank0"),
        (f"exp/rank_0/{NAME}", "exp", "rank 0 · host1_4242"),
        (f"exp/rank0_start2_stop5/{NAME}", "exp", "rank 0 · host1_4242"),
        ("exp/rank_0", "exp", "rank 0"),
        (f"exp/node1/rank_0/{NAME}", "exp", "rank 0 · node1/host1_4242"),
        ("exp/node1/rank0_ascend_pt", "exp", "rank 0 · node1"),
        (f"exp/node1/{NAME}", "exp/node1", "rank 0 · host1_4242"),
        ("exp/host1_7_20250109154804_ascend_ms", "exp", "rank 0 · host1_7"),
        ("exp/noname_ascend_pt", "exp", "rank 0 · noname"),
        ("exp/logs/my copy", "exp/logs", "rank 0"),
        (f"rank4_lora/{NAME}", "rank4_lora", "rank 0 · host1_4242"),
    ],
)
def test_run_and_worker_of_every_layout(tmp_path: Path, place: str, run: str, worker: str) -> None:
    write_result(tmp_path / "logs" / place)
    found = scan({"": tmp_path / "logs"})
    assert tree(found) == {run: {worker: [Path(place).name]}}
    assert found.skipped == ()


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


def test_two_processes_that_claim_a_rank_at_one_time_are_kept_apart(tmp_path: Path) -> None:
    names = ["host1_11_20250109150000000_ascend_pt", "host2_22_20250109150007000_ascend_pt"]
    for name in names:
        write_result(tmp_path / "logs" / name)
    found = scan({"": tmp_path / "logs"})
    assert tree(found) == {"logs": {"rank 0 · host1_11": [names[0]], "rank 0 · host2_22": [names[1]]}}
    assert len({worker.token for worker in found.runs[0].workers}) == 2


def test_rank_comes_from_file_name_then_rank_id_then_folder(tmp_path: Path) -> None:
    write_result(tmp_path / "rank_1" / "a_1_20250109150000000_ascend_pt", rank=9)
    by_id = write_result(tmp_path / "rank_2" / "b_2_20250109150000000_ascend_pt", rank=None)
    (by_id / "profiler_info.json").write_text(json.dumps({"rank_id": "8"}))
    write_result(tmp_path / "rank_3" / "c_3_20250109150000000_ascend_pt", rank=None)
    write_result(tmp_path / "d_4_20250109150000000_ascend_pt", rank=None)
    workers = scan({"": tmp_path}).runs[0].workers
    assert [(worker.rank, worker.rank_source, worker.host, worker.pid) for worker in workers] == [
        (3, "folder name", "c", 3),
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


def test_raw_data_is_reported_with_the_command_that_parses_it(tmp_path: Path) -> None:
    for name in ("FRAMEWORK", "PROF_000001_20250109_ABC"):
        (tmp_path / NAME / name).mkdir(parents=True)
    (item,) = scan({"": tmp_path}).skipped
    assert item.path == NAME and "never parsed" in item.reason
    code = f'from torch_npu.profiler.profiler import analyse; analyse("{tmp_path / NAME}")'
    assert item.command == f"python3 -c '{code}'"


def test_raw_data_of_the_mock_device_need_no_cann(tmp_path: Path) -> None:
    (tmp_path / NAME / "FRAMEWORK").mkdir(parents=True)
    (tmp_path / NAME / "FRAMEWORK/capture.json").touch()
    (item,) = scan({"": tmp_path}).skipped
    assert "it still runs, or its process was killed" in item.reason and "analyse" not in item.action
    (tmp_path / NAME / "FRAMEWORK/torch.json").touch()
    (item,) = scan({"": tmp_path}).skipped
    code = f'from tb_npu_plugin.capture.pytorch import analyse; analyse("{tmp_path / NAME}")'
    assert (item.action, shlex.split(item.command)) == ("Parse it:", ["python3", "-c", code])


@pytest.mark.parametrize("name", ["ascend_pytorch_profiler_0.db", "ascend_pytorch_profiler.db", "analysis.db"])
def test_a_database_export_is_a_result(tmp_path: Path, name: str) -> None:
    (tmp_path / NAME / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (tmp_path / NAME / "ASCEND_PROFILER_OUTPUT" / name).touch()
    (place,) = scan({"": tmp_path}).places()
    assert [file.relative for file in place.span.files] == [f"ASCEND_PROFILER_OUTPUT/{name}"]


@pytest.mark.parametrize("inside", ["", "ASCEND_PROFILER_OUTPUT", "some/empty/folders"])
def test_an_empty_result_is_reported(tmp_path: Path, inside: str) -> None:
    (tmp_path / NAME / inside).mkdir(parents=True)
    assert "holds no result files" in reasons(scan({"": tmp_path}))[NAME]


def test_files_that_were_copied_without_their_output_folder_are_a_result(tmp_path: Path) -> None:
    (tmp_path / "copy" / "deeper").mkdir(parents=True)
    for name in ("trace_view.json", "copy/kernel_details.csv", "copy/msprof_20250615070512.db", "copy/deeper/a.txt"):
        (tmp_path / name).touch()
    found = scan({"": tmp_path})
    assert found.skipped == ()
    names = {span.path: [file.relative for file in span.files] for span in (place.span for place in found.places())}
    assert names == {tmp_path.name: ["trace_view.json"], "copy": ["kernel_details.csv", "msprof_20250615070512.db"]}


def test_tokens_are_stable_opaque_and_distinct(tmp_path: Path) -> None:
    write_result(tmp_path / "a" / NAME)
    write_result(tmp_path / "b" / NAME)
    first, second = (scan({"": tmp_path}).places() for _ in range(2))
    assert [place.span.token for place in first] == [place.span.token for place in second]
    tokens = {token for place in first for token in (place.run.token, place.worker.token, place.span.token)}
    assert len(tokens) == 6 and all(token.isalnum() and NAME not in token for token in tokens)


def test_the_fingerprint_follows_size_time_and_names(tmp_path: Path) -> None:
    folder = write_result(tmp_path / NAME)
    kernels = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    seen = [scan({"": tmp_path}).places()[0].span.fingerprint]
    os.utime(kernels, ns=(0, 1))
    seen.append(scan({"": tmp_path}).places()[0].span.fingerprint)
    kernels.write_text("longer")
    os.utime(kernels, ns=(0, 1))
    seen.append(scan({"": tmp_path}).places()[0].span.fingerprint)
    (folder / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").touch()
    seen.append(scan({"": tmp_path}).places()[0].span.fingerprint)
    assert len(set(seen)) == 4
    assert scan({"": tmp_path}).places()[0].span.fingerprint == seen[-1]


def test_the_plain_file_goes_before_the_compressed_one(tmp_path: Path) -> None:
    folder = write_result(tmp_path / NAME)
    (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json.gz").touch()
    (place,) = scan({"": tmp_path}).places()
    assert [file.relative for file in place.span.files if file.is_trace] == ["ASCEND_PROFILER_OUTPUT/trace_view.json"]
    assert [note.code for note in place.span.notes] == ["duplicate_file"]


def test_restart_gap_separates_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("host1_11_20250109150000000_ascend_pt", "host2_22_20250109150007000_ascend_pt"):
        write_result(tmp_path / name)
    monkeypatch.setattr(scan_module, "RESTART_GAP", scan_module.timedelta(seconds=5))
    assert len(scan({"": tmp_path}).runs[0].workers) == 1
