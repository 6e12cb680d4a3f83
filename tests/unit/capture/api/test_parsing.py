"""analyse and the trace handler, with a parser of the tests in real child processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.api.handler import tensorboard_trace_handler
from tb_npu_plugin.capture.api.parsing import analyse
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.backend import Progress
from tests.unit.capture.api.conftest import QUIET, Recorded, Said

CORES = os.cpu_count() or 1


def _result(folder: Path, types: Any = ("text",), raw: str = '{"operators": 2}') -> Path:
    """A result folder as the fake recorder leaves it."""
    (folder / "FRAMEWORK").mkdir(parents=True)
    (folder / "FRAMEWORK/raw.json").write_text(raw)
    config = {
        "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]},
        "experimental_config": {"_export_type": types},
    }
    (folder / "profiler_info.json").write_text(json.dumps({"config": config}))
    return folder


def _files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}


TEXT = {"trace_view.json", "operator_details.csv", "analyse.done"}
DB = {"ascend_pytorch_profiler.db", "analyse.done"}

#: Recorded, asked for, made.
TYPES: list[tuple[Any, Any, set[str]]] = [
    (["text"], None, TEXT),
    (["db"], None, DB),
    ("db", None, DB),
    (["text", "db"], None, TEXT | DB),
    (None, None, TEXT),
    (["csv"], None, TEXT),
    (["text"], "db", DB),
    (["db"], ["text", "db"], TEXT | DB),
]


@pytest.mark.parametrize(("recorded_as", "asked", "made"), TYPES)
def test_forms(recorded_as: Any, asked: Any, made: set[str], tmp_path: Path, recorded: Recorded) -> None:
    folder = _result(tmp_path / "h_1_20260101000000000_ascend_pt", recorded_as)
    (folder / "ASCEND_PROFILER_OUTPUT").mkdir()
    (folder / "ASCEND_PROFILER_OUTPUT/old.csv").touch()
    analyse(str(folder), export_type=asked)
    assert _files(folder) == made
    assert (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").read_bytes() == b""


def test_messages(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    analyse(str(folder))
    lines = said()
    assert {kind for kind, _ in lines} == {"INFO"}
    took = r"in a total time of \d+:\d\d:\d\d(\.\d+)?"  # however busy the machine is
    assert [re.sub(took, "in no time", text) for _, text in lines] == [
        f"Start parsing profiling data in sync mode at: {folder}",
        "CANN profiling data parsed in no time",
        "All profiling data parsed in no time",
    ]


def test_a_parent_of_results_and_other_things(tmp_path: Path, recorded: Recorded) -> None:
    results = [_result(tmp_path / f"rank{rank}_ascend_pt") for rank in range(3)]
    (tmp_path / "cann_ascend_pt/PROF_000001_20260101000000000_ABC").mkdir(parents=True)
    (tmp_path / "notes_ascend_pt/PROF_of_something").mkdir(parents=True)
    (tmp_path / "empty_ascend_pt").mkdir()
    _result(tmp_path / "deeper/rank9_ascend_pt")
    renamed = _result(tmp_path / "renamed")
    (tmp_path / "file_ascend_pt").touch()
    found = parsing.find_results(tmp_path)
    assert [path.name for path in found] == [
        "cann_ascend_pt",
        "rank0_ascend_pt",
        "rank1_ascend_pt",
        "rank2_ascend_pt",
        "renamed",
    ]
    analyse(str(tmp_path), max_process_number=1)
    assert all(_files(result) == TEXT for result in [*results, renamed])
    assert parsing.find_results(renamed) == [renamed]


def test_a_result_stays_when_parsing_it_again_fails(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    analyse(str(folder))
    (folder / "FRAMEWORK/raw.json").write_text("{")
    (folder / "ASCEND_PROFILER_OUTPUT.part-killed").mkdir()
    analyse(str(folder))
    assert _files(folder) == TEXT
    assert [kind for kind, _ in said() if kind == "ERROR"] == ["ERROR"]
    assert not list(folder.glob("*.part*"))


def test_a_bad_folder_does_not_stop_the_others(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    bad, good = _result(tmp_path / "a_ascend_pt", raw="{"), _result(tmp_path / "b_ascend_pt")
    analyse(str(tmp_path))
    assert _files(good) == TEXT
    assert not (bad / "ASCEND_PROFILER_OUTPUT").exists()
    [text] = [text for kind, text in said() if kind == "ERROR"]
    assert str(bad) in text
    assert "JSONDecodeError" in text


@pytest.mark.parametrize("info", ["[]", "{", '{"config": []}', '{"config": {"common_config": 5}}', "\udcff"])
def test_a_damaged_profiler_info_does_not_stop_parsing(
    info: str, tmp_path: Path, recorded: Recorded, said: Said
) -> None:
    folders = [_result(tmp_path / "a_ascend_pt"), _result(tmp_path / "b_ascend_pt")]
    (folders[0] / "profiler_info.json").write_bytes(info.encode(errors="surrogateescape"))
    analyse(str(tmp_path))
    assert [_files(folder) for folder in folders] == [TEXT, TEXT]
    assert {kind for kind, _ in said()} == {"INFO"}


def test_an_unreadable_folder_does_not_stop_the_others(
    tmp_path: Path, recorded: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, good = _result(tmp_path / "a_ascend_pt"), _result(tmp_path / "b_ascend_pt")
    read = Path.iterdir

    def iterdir(path: Path) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    parse = parsing.run_parser

    def run_parser(folder: Path, *arguments: Any) -> None:
        if folder == closed:
            raise PermissionError(13, "Permission denied", str(folder))
        parse(folder, *arguments)

    monkeypatch.setattr(Path, "iterdir", iterdir)  # root may read all: permissions alone would show nothing
    monkeypatch.setattr(parsing, "run_parser", run_parser)
    analyse(str(tmp_path))
    assert _files(good) == TEXT
    [text] = [text for kind, text in said() if kind == "ERROR"]
    assert "Permission denied" in text
    assert str(closed) in text


#: Given, used, printed.
PROCESSES: list[tuple[Any, int, list[str]]] = [
    (1, 1, []),
    (0, parsing.DEFAULT_PROCESSES, ["Invalid max_process_number, reset it to default!"]),
    (-1, parsing.DEFAULT_PROCESSES, ["Invalid max_process_number, reset it to default!"]),
    ("2", parsing.DEFAULT_PROCESSES, ["Invalid max_process_number, reset it to default!"]),
    (
        CORES + 1,
        CORES,
        ["max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!"],
    ),
]


@pytest.mark.parametrize(("given", "used", "lines"), PROCESSES)
def test_max_process_number(given: Any, used: int, lines: list[str], said: Said) -> None:
    assert parsing._checked_processes(given) == used
    assert said() == [("WARNING", line) for line in lines]


@pytest.mark.parametrize("given", ["csv", [], ["text", "csv"], 5, [["text"]]])
def test_invalid_export_types(given: Any, said: Said) -> None:
    assert parsing._checked_types(given) is None
    [(kind, text)] = said()
    assert (kind, text) == (
        "WARNING",
        f"Invalid parameter export_type: {given}, use the export_type that was recorded.",
    )


@pytest.mark.parametrize("given", ["missing", "file", "empty", None, 5])
def test_nothing_to_parse(given: Any, tmp_path: Path, said: Said) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    analyse(given)
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert given in (None, 5) or given in text


def die(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    os.kill(os.getpid(), 9)


def leave(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    os._exit(3)


def chatter(folder: Path, out: Path, export_types: Sequence[str], progress: Callable[[Progress], None]) -> None:
    print("to stdout")
    os.write(1, b"from native code\n7\n")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("parser", "reason"),
    [
        ("die", "killed by signal 9; if memory ran out, use a lower max_process_number"),
        ("leave", "ended with status 3"),
        ("chatter", "[Errno 28] No space left on device"),
        ("absent", "AttributeError"),
    ],
)
def test_how_parsers_fail(parser: str, reason: str, tmp_path: Path, recorded: Recorded, said: Said) -> None:
    backend.choose(backend.Backend("test", backend.current_backend().recorder, f"{__name__}:{parser}"))
    analyse(str(_result(tmp_path / "a_ascend_pt")))
    [text] = [text for kind, text in said() if kind == "ERROR"]
    assert reason in text


def test_the_handler_parses_each_capture(recorded: Recorded, said: Said) -> None:
    with profile(on_trace_ready=tensorboard_trace_handler("result"), experimental_config=QUIET):
        pass
    [folder] = Path("result").iterdir()
    assert _files(folder) == TEXT
    assert [kind for kind, _ in said() if kind == "ERROR"] == []


def test_the_handler_ignores_use_gzip(recorded: Recorded, said: Said) -> None:
    handler = tensorboard_trace_handler("result", use_gzip=True)
    assert said() == [("WARNING", "use_gzip is not supported, the results are not compressed.")]
    with profile(on_trace_ready=handler, experimental_config=QUIET):
        pass
    [folder] = Path("result").iterdir()
    assert _files(folder) == TEXT


def test_validation_of_the_handler(said: Said) -> None:
    tensorboard_trace_handler("result", analyse_flag=1, async_mode="no")  # type: ignore[arg-type]
    assert said() == [
        ("WARNING", "analyse_flag is not bool, set by default."),
        ("WARNING", "async_mode is not bool, set by default."),
    ]


def test_a_daemon_process_does_not_parse(recorded: Recorded, said: Said, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with profile(on_trace_ready=tensorboard_trace_handler("result"), experimental_config=QUIET):
        pass
    [text] = [text for kind, text in said() if kind == "ERROR"]
    assert "daemon process" in text
    assert "analyse(" in text


def test_a_user_display_does_not_stop_the_parsing(recorded: Recorded, tmp_path: Path) -> None:
    from rich.progress import Progress as Display

    folder = _result(tmp_path / "a_ascend_pt")
    with Display(disable=False):
        analyse(str(folder))
    assert _files(folder) == TEXT
