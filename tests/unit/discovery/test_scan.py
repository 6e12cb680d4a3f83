"""What a scan finds below a logdir: results, files that nothing reads, folders that cannot be opened."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from tb_npu_plugin.discovery import found as found_module
from tb_npu_plugin.discovery import layout
from tb_npu_plugin.discovery import runs as runs_module
from tb_npu_plugin.discovery.model import FoundSpan, Scan
from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.schema.core import ResultFile
from tests.support.fixtures import FIXTURES
from tests.unit.discovery.test_layouts import tree
from tests.unit.store.results import NAME, write_result

GOOD = {"rank 0 · host1_4242": [NAME]}


def reasons(found: Scan) -> dict[str, str]:
    return {item.path: item.reason for item in found.skipped}


def only_span(logdir: Path) -> FoundSpan:
    (place,) = scan({"": logdir}).places()
    return place.span


def put(folder: Path, *names: str) -> None:
    """Files of five bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("12345")


def test_two_processes_that_claim_a_rank_at_one_time_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["host1_11_20250109150000000_ascend_pt", "host2_22_20250109150007000_ascend_pt"]
    for name in names:
        write_result(tmp_path / "logs" / name)
    found = scan({"": tmp_path / "logs"})
    assert tree(found) == {"logs": {"rank 0 · host1_11": [names[0]], "rank 0 · host2_22": [names[1]]}}
    assert len({worker.token for worker in found.runs[0].workers}) == 2
    monkeypatch.setattr(runs_module, "RESTART_GAP", runs_module.timedelta(seconds=5))
    assert len(scan({"": tmp_path / "logs"}).runs[0].workers) == 1


def test_raw_data_is_reported_with_the_command_that_parses_it(tmp_path: Path) -> None:
    for name in ("FRAMEWORK", "PROF_000001_20250109_ABC"):
        (tmp_path / NAME / name).mkdir(parents=True)
    (item,) = scan({"": tmp_path}).skipped
    assert item.path == NAME and "never parsed" in item.reason
    code = f'from torch_npu.profiler.profiler import analyse; analyse("{tmp_path / NAME}")'
    assert item.command == f"python3 -c '{code}'"


def test_raw_data_of_the_mock_device_need_no_cann(tmp_path: Path) -> None:
    put(tmp_path / NAME / "FRAMEWORK", "capture.json")
    (item,) = scan({"": tmp_path}).skipped
    assert "it still runs, or its process was killed" in item.reason and "analyse" not in item.action
    put(tmp_path / NAME / "FRAMEWORK", "torch.json")
    (item,) = scan({"": tmp_path}).skipped
    code = f'from tb_npu_plugin.capture.pytorch import analyse; analyse("{tmp_path / NAME}")'
    assert (item.action, shlex.split(item.command)) == ("Parse it:", ["python3", "-c", code])


@pytest.mark.parametrize("name", ["ascend_pytorch_profiler_0.db", "ascend_pytorch_profiler.db", "analysis.db"])
def test_a_database_export_is_a_result(tmp_path: Path, name: str) -> None:
    put(tmp_path / NAME / "ASCEND_PROFILER_OUTPUT", name)
    assert [file.relative for file in only_span(tmp_path).files] == [f"ASCEND_PROFILER_OUTPUT/{name}"]


@pytest.mark.parametrize("inside", ["", "ASCEND_PROFILER_OUTPUT", "some/empty/folders"])
def test_an_empty_result_is_reported(tmp_path: Path, inside: str) -> None:
    (tmp_path / NAME / inside).mkdir(parents=True)
    assert "holds no result files" in reasons(scan({"": tmp_path}))[NAME]


def test_files_that_were_copied_without_their_output_folder_are_a_result(tmp_path: Path) -> None:
    put(tmp_path, "trace_view.json")
    put(tmp_path / "copy", "kernel_details.csv", "msprof_20250615070512.db")
    put(tmp_path / "copy" / "deeper", "a.txt")
    found = scan({"": tmp_path})
    assert found.skipped == ()
    names = {place.span.path: [file.relative for file in place.span.files] for place in found.places()}
    assert names == {tmp_path.name: ["trace_view.json"], "copy": ["kernel_details.csv", "msprof_20250615070512.db"]}


def test_tokens_are_stable_opaque_and_distinct(tmp_path: Path) -> None:
    write_result(tmp_path / "a" / NAME)
    write_result(tmp_path / "b" / NAME)
    first, second = (scan({"": tmp_path}).places() for _ in range(2))
    assert [place.span.token for place in first] == [place.span.token for place in second]
    tokens = {token for place in first for token in (place.run.token, place.worker.token, place.span.token)}
    assert len(tokens) == 6 and all(token.isalnum() and NAME not in token for token in tokens)


def test_the_fingerprint_follows_size_time_and_names(tmp_path: Path) -> None:
    output = write_result(tmp_path / NAME) / "ASCEND_PROFILER_OUTPUT"
    kernels = output / "kernel_details.csv"
    seen = [only_span(tmp_path).fingerprint]
    os.utime(kernels, ns=(0, 1))
    seen.append(only_span(tmp_path).fingerprint)
    kernels.write_text("longer")
    os.utime(kernels, ns=(0, 1))
    seen.append(only_span(tmp_path).fingerprint)
    (output / "op_statistic.csv").touch()
    seen.append(only_span(tmp_path).fingerprint)
    assert len(set(seen)) == 4
    assert only_span(tmp_path).fingerprint == seen[-1]


def test_the_plain_file_goes_before_the_compressed_one(tmp_path: Path) -> None:
    put(write_result(tmp_path / NAME) / "ASCEND_PROFILER_OUTPUT", "trace_view.json.gz")
    span = only_span(tmp_path)
    assert [file.relative for file in span.files if file.is_trace] == ["ASCEND_PROFILER_OUTPUT/trace_view.json"]
    assert [note.code for note in span.notes] == ["duplicate_file"]


def test_files_of_a_result_that_nothing_reads(tmp_path: Path) -> None:
    output = tmp_path / NAME / "ASCEND_PROFILER_OUTPUT"
    put(output, "kernel_details.csv", "hbm.csv", "profiler_info.json", "op_statistic.csv.gz", "a\x1b[31m\n\u202e.csv")
    put(output / "folder", "in_it.csv")
    put(tmp_path / NAME, "profiler_info_0.json", "notes.txt")
    (output / "b\udcff.csv").write_text("")
    (output / "gone.csv").symlink_to("nowhere")
    span = only_span(tmp_path)
    assert span.unread.files == (
        ("ASCEND_PROFILER_OUTPUT/a\ufffd[31m\ufffd\ufffd.csv", 5),
        ("ASCEND_PROFILER_OUTPUT/b\ufffd.csv", 0),
        ("ASCEND_PROFILER_OUTPUT/hbm.csv", 5),
        ("ASCEND_PROFILER_OUTPUT/profiler_info.json", 5),  # it belongs into the folder above
    )
    assert not {name for name, _ in span.unread.files} & {file.relative for file in span.files}


def test_of_many_unread_files_the_first_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_module, "MAX_UNREAD", 2)
    put(tmp_path / NAME / "ASCEND_PROFILER_OUTPUT", "kernel_details.csv", "c.csv", "a.csv", "b.csv", "d.csv")
    unread = only_span(tmp_path).unread
    assert [name.rpartition("/")[2] for name, _ in unread.files] == ["a.csv", "b.csv"] and unread.more == 2


@pytest.mark.parametrize(
    ("fixture", "folder"),
    [
        ("results/msprof", "*/mindstudio_profiler_output"),
        ("results/mindspore_data", "*/ASCEND_PROFILER_OUTPUT"),
        ("results/mindinsight_single", "**/profiler"),
        ("results/mindinsight_hosts", "**/cluster_profiler/*/profiler"),
        ("recorded/cluster_text", "cluster_analysis_output"),
    ],
)
def test_every_kind_of_result_lists_its_unread_files(tmp_path: Path, fixture: str, folder: str) -> None:
    shutil.copytree(FIXTURES / fixture, tmp_path / "run")
    before = len(scan({"": tmp_path}).places())
    for place in list((tmp_path / "run").glob(folder)):
        put(place, "soc_pmu_20250615070512.csv")
    after = [place.span for place in scan({"": tmp_path}).places()]
    assert len(after) == before > 0
    for span in after:
        names = [name.rpartition("/")[2] for name, _ in span.unread.files]
        assert names.count("soc_pmu_20250615070512.csv") == 1
        assert all((span.folder / name).is_file() for name, _ in span.unread.files)


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    write_result(tmp_path / "elsewhere" / NAME)
    (tmp_path / "logs" / "run").mkdir(parents=True)
    (tmp_path / "logs" / "run" / NAME).symlink_to(tmp_path / "elsewhere" / NAME)
    assert tree(scan({"": tmp_path / "logs"})) == {"run": GOOD}


def test_a_folder_is_entered_once_whatever_links_lead_to_it(tmp_path: Path) -> None:
    """36 links among six folders were 1,956 paths and 35 s of CPU."""
    logdir = tmp_path / "logs"
    write_result(tmp_path / "elsewhere" / "deep" / NAME)
    for number in range(6):
        write_result(logdir / f"f{number}" / NAME)
        for other in range(6):
            (logdir / f"f{number}" / f"to{other}").symlink_to(logdir / f"f{other}")
    (logdir / "a_first").symlink_to(tmp_path / "elsewhere" / "deep")
    (logdir / "b_above").symlink_to(tmp_path / "elsewhere")
    (logdir / "c_result").symlink_to(logdir / "f3" / NAME)
    found = scan({"": logdir})
    assert tree(found) == {"a_first": GOOD, **{f"f{number}": GOOD for number in range(6)}}
    told = reasons(found)
    assert (
        told["f0/to1"]
        == "Same folder as f1, where its results are listed; 4 more links beside it lead to listed folders."
    )
    assert told["b_above/deep"] == "Same folder as a_first, where its results are listed."
    assert told["c_result"] == f"Same folder as f3/{NAME}, where its results are listed."
    assert sum("contains it" in reason for reason in told.values()) == 6 and len(told) == 6 + 6 + 2


def test_a_cycle_of_links_ends_and_is_reported(tmp_path: Path) -> None:
    write_result(tmp_path / "a" / NAME)
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
    found = scan({"": tmp_path})
    assert tree(found) == {"a": GOOD}
    assert {path: "contains it" in reason for path, reason in reasons(found).items()} == {
        "a/again": True,
        "a/self": True,
    }


def test_a_dangling_file_is_a_problem_of_its_span(tmp_path: Path) -> None:
    folder = write_result(tmp_path / NAME, trace=None)
    (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").symlink_to(tmp_path / "nowhere")
    span = only_span(tmp_path)
    assert [(note.code, note.file) for note in span.notes] == [
        ("unreadable_file", "ASCEND_PROFILER_OUTPUT/trace_view.json")
    ]
    assert not span.has_trace


def test_a_remote_logdir_is_reported() -> None:
    assert "remote folders" in reasons(scan({"": Path("gs://bucket/logs")}))["gs:/bucket/logs"]


@pytest.mark.parametrize(
    ("limit", "folders", "reported", "reason"),
    [
        ("MAX_DEPTH", [f"a/b/c/d/{NAME}"], "a/b/c/d", "More than 3 folders deep"),
        ("MAX_FOLDERS", [*"abcdef"], "c", "More than 3 folders"),
    ],
)
def test_folders_too_deep_or_too_many_are_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, folders: list[str], reported: str, reason: str
) -> None:
    monkeypatch.setattr(layout, limit, 3)
    for name in folders:
        (tmp_path / name).mkdir(parents=True)
    ((path, text),) = reasons(scan({"": tmp_path})).items()
    assert path == reported and reason in text


@pytest.mark.parametrize(("name", "action"), [("later", "Results that appear there"), ("a,b", "--logdir_spec=")])
def test_a_logdir_that_is_not_there_is_reported(tmp_path: Path, name: str, action: str) -> None:
    (skipped,) = scan({"": tmp_path / name}).skipped
    assert (skipped.path, skipped.reason) == (".", "This folder does not exist.") and action in skipped.action


@pytest.mark.parametrize(
    ("error", "reason"),
    [(PermissionError(13, "Permission denied"), "No permission"), (FileNotFoundError(2, "No such file"), None)],
)
def test_a_folder_that_is_closed_is_reported_and_one_that_vanishes_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str | None
) -> None:
    write_result(tmp_path / "good" / NAME)
    write_result(tmp_path / "odd" / NAME)
    real = os.scandir

    def scandir(path: str | Path) -> object:  # root may read everything, so the refusal is played
        if Path(path).name == "odd":
            raise error
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = scan({"": tmp_path})
    assert tree(found) == {"good": GOOD}
    assert {path: (reason or "") in text for path, text in reasons(found).items()} == ({"odd": True} if reason else {})


def test_files_of_no_result_are_compared_with_one_pattern_a_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder may hold a hundred thousand of them."""
    put(tmp_path / "sheets", *(f"sheet{number}.csv" for number in range(300)))
    asked: list[str] = []
    monkeypatch.setattr(ResultFile, "matches", lambda self, name: bool(asked.append(name)))
    (others,) = scan({"": tmp_path}).others
    assert others.count == 300 and len(asked) < 1000
