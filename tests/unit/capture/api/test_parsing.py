"""analyse and the trace handler, with parsers of the tests in real child processes, and what is seen of it."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api import parsing
from tb_npu_plugin.capture.api.parsing import analyse
from tb_npu_plugin.capture.api.profile import tensorboard_trace_handler
from tests.unit.capture.api import fake
from tests.unit.capture.api.conftest import Recorded, Said, make_profile

TEXT = {"trace_view.json", "operator_details.csv", "analyse.done"}
DB = {"ascend_pytorch_profiler.db", "analyse.done"}
#: Variables by which rich takes a terminal for none, or the other way.
STEERS_RICH = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def _result(folder: Path, types: Any = ("text",), raw: str = '{"operators": 2}', simplified: Any = False) -> Path:
    """A result folder as the fake recorder leaves it."""
    (folder / "FRAMEWORK").mkdir(parents=True)
    (folder / "FRAMEWORK/raw.json").write_text(raw)
    config = {
        "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]},
        "experimental_config": {"_export_type": types, "_data_simplification": simplified},
    }
    (folder / "profiler_info.json").write_text(json.dumps({"config": config}))
    return folder


def _files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}


#: Recorded, asked for, made.
TYPES: list[tuple[Any, Any, set[str]]] = [
    (["text", "db"], None, TEXT | DB),
    (None, None, TEXT),
    (["csv"], None, TEXT),
    (["text"], "db", DB),
    ("db", ["text", "db"], TEXT | DB),
]


@pytest.mark.parametrize(("recorded_as", "asked", "made"), TYPES)
def test_forms(recorded_as: Any, asked: Any, made: set[str], tmp_path: Path, recorded: Recorded) -> None:
    folder = _result(tmp_path / "h_1_20260101000000000_ascend_pt", recorded_as)
    (folder / "ASCEND_PROFILER_OUTPUT").mkdir()
    (folder / "ASCEND_PROFILER_OUTPUT/old.csv").touch()
    analyse(str(folder), export_type=asked)
    assert _files(folder) == made


def test_messages(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    analyse(str(folder))
    lines = [re.sub(r"\d+:\d\d:\d\d(\.\d+)?$", "T", f"{kind} {text}") for kind, text in said()]
    assert lines == [
        f"INFO Start parsing profiling data in sync mode at: {folder}",
        "INFO CANN profiling data parsed in a total time of T",
        "INFO All profiling data parsed in a total time of T",
    ]


def test_a_parent_of_results_and_other_things(tmp_path: Path, recorded: Recorded) -> None:
    results = [_result(tmp_path / name) for name in ("rank0_ascend_pt", "rank1_ascend_pt", "renamed")]
    (tmp_path / "cann_ascend_pt/PROF_000001_20260101000000000_ABC").mkdir(parents=True)
    (tmp_path / "notes_ascend_pt/PROF_of_something").mkdir(parents=True)
    (tmp_path / "empty_ascend_pt").mkdir()
    (tmp_path / "file_ascend_pt").touch()
    _result(tmp_path / "deeper/rank9_ascend_pt")
    assert parsing.find_results(tmp_path) == [tmp_path / "cann_ascend_pt", *results]
    assert parsing.find_results(results[2]) == [results[2]]
    analyse(str(tmp_path), max_process_number=1)
    assert all(_files(result) == TEXT for result in results)


def test_a_result_stays_when_parsing_it_again_fails(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    analyse(str(folder))
    (folder / "FRAMEWORK/raw.json").write_text("{")
    (folder / "ASCEND_PROFILER_OUTPUT.part-killed").mkdir()
    analyse(str(folder))
    assert _files(folder) == TEXT
    assert len(said.errors()) == 1
    assert not list(folder.glob("*.part*"))


@pytest.mark.parametrize(("simplified", "raw", "kept"), [(True, "{", True), (None, "{}", True), (True, "{}", False)])
def test_simplified_raw_data_are_deleted_once_they_are_parsed(
    simplified: Any, raw: str, kept: bool, tmp_path: Path, recorded: Recorded, said: Said
) -> None:
    whole = raw.replace("{}", '{"operators": 2}')
    folder = _result(tmp_path / "a_ascend_pt", raw=whole, simplified=simplified)
    analyse(str(folder))
    said()
    assert (folder / "FRAMEWORK").exists() == kept
    if not kept:
        analyse(str(tmp_path))
        assert "Parsing deletes FRAMEWORK unless data_simplification=False." in said.errors()[0]
        assert _files(folder) == TEXT


def test_raw_data_that_cannot_be_deleted_are_a_warning(tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt", simplified=True)
    (folder / "FRAMEWORK").rename(tmp_path / "elsewhere")
    (folder / "FRAMEWORK").symlink_to(tmp_path / "elsewhere")
    analyse(str(folder))
    assert (tmp_path / "elsewhere/raw.json").is_file() and _files(folder) == TEXT
    assert [text[:12] for kind, text in said() if kind == "WARNING"] == ["The raw data"]


@pytest.mark.parametrize("info", ["[]", "{", '{"config": []}', '{"config": {"common_config": 5}}', "\udcff"])
def test_a_damaged_profiler_info_does_not_stop_parsing(
    info: str, tmp_path: Path, recorded: Recorded, said: Said
) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    (folder / "profiler_info.json").write_bytes(info.encode(errors="surrogateescape"))
    analyse(str(folder))
    assert _files(folder) == TEXT
    assert {kind for kind, _ in said()} == {"INFO"}


DEFAULT = "Invalid max_process_number, reset it to default!"
MANY = "max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!"
TYPES_AS_RECORDED = "Invalid parameter export_type: {}, use the export_type that was recorded."
WRONG: list[tuple[str, Any, str]] = [
    ("max_process_number", 0, DEFAULT),
    ("max_process_number", "2", DEFAULT),
    ("max_process_number", (os.cpu_count() or 1) + 1, MANY),
    *(("export_type", wrong, TYPES_AS_RECORDED.format(wrong)) for wrong in ("csv", [], ["text", "csv"], 5, [["text"]])),
]


@pytest.mark.parametrize(("name", "value", "line"), WRONG)
def test_wrong_arguments(name: str, value: Any, line: str, tmp_path: Path, recorded: Recorded, said: Said) -> None:
    folder = _result(tmp_path / "a_ascend_pt")
    analyse(str(folder), **{name: value})
    assert said()[0] == ("WARNING", line)
    assert _files(folder) == TEXT


@pytest.mark.parametrize("given", ["missing", "file", "empty", None, 5])
def test_nothing_to_parse(given: Any, tmp_path: Path, said: Said) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    analyse(given)
    [(kind, text)] = said()
    assert kind == "ERROR"
    assert given in (None, 5) or given in text


def die(*arguments: Any) -> None:
    os.kill(os.getpid(), 9)


def chatter(*arguments: Any) -> None:
    print("to stdout")
    os.write(1, b"from native code\n7\n")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("parser", "reason"),
    [
        ("die", "killed by signal 9; if memory ran out, use a lower max_process_number"),
        ("chatter", "[Errno 28] No space left on device"),
    ],
)
def test_how_parsers_fail(
    parser: str, reason: str, tmp_path: Path, recorded: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "PARSER", f"{__name__}:{parser}")
    analyse(str(_result(tmp_path / "a_ascend_pt")))
    [text] = said.errors()
    assert reason in text


def test_a_folder_is_parsed_by_one_at_a_time(tmp_path: Path, recorded: Recorded) -> None:
    """Cause: analyse() during parsing in the background deleted what that one was writing."""
    folder = _result(tmp_path / "a_ascend_pt")
    (folder / "ASCEND_PROFILER_OUTPUT.part-other").mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    other = threading.Thread(target=analyse, args=(str(folder),))
    other.start()
    other.join(0.3)
    assert other.is_alive() and (folder / "ASCEND_PROFILER_OUTPUT.part-other").exists(), "it waits"
    os.close(descriptor)
    other.join()
    assert _files(folder) == TEXT


def test_after_control_c_no_process_begins(tmp_path: Path, recorded: Recorded, said: Said, monkeypatch: Any) -> None:
    """Cause: for each folder that was still to come one began, and was killed as soon as the thread got to it."""
    results = [_result(tmp_path / name) for name in ("a_ascend_pt", "b_ascend_pt")]
    monkeypatch.setattr(backend, "PARSER", f"{fake.__name__}:interrupt_parent")
    with pytest.raises(KeyboardInterrupt):
        analyse(str(tmp_path), max_process_number=1)
    assert said.errors() == [f"Failed to parsing profiling data. {results[0]}: It was interrupted."]


# -- the trace handler -------------------------------------------------------------------------------
def test_the_handler_reports_wrong_arguments_and_parses(recorded: Recorded, said: Said) -> None:
    wrong: dict[str, Any] = {"analyse_flag": 1, "async_mode": "no", "use_gzip": True}
    handler = tensorboard_trace_handler("result", **wrong)
    assert said() == [
        ("WARNING", "use_gzip is not supported, the results are not compressed."),
        ("WARNING", "analyse_flag is not bool, set by default."),
        ("WARNING", "async_mode is not bool, set by default."),
    ]
    with make_profile(on_trace_ready=handler):
        pass
    [folder] = Path("result").iterdir()
    assert _files(folder) == TEXT


def test_a_daemon_process_does_not_parse(recorded: Recorded, said: Said, monkeypatch: Any) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with make_profile(on_trace_ready=tensorboard_trace_handler("result")):
        pass
    [text] = said.errors()
    assert "daemon process" in text
    assert "analyse(" in text


@pytest.mark.parametrize("place", ["terminal", "file", "notebook"])
def test_a_bar_for_each_folder(
    place: str, tmp_path: Path, recorded: Recorded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = _result(tmp_path / "good_ascend_pt"), _result(tmp_path / "bad_ascend_pt", raw="{")
    for name in STEERS_RICH:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "FORCE_COLOR": "1" if place == "terminal" else ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: place == "notebook")  # without ipywidgets
    monkeypatch.setattr("tb_npu_plugin.capture.api.parser_process.find_spec", lambda name: None)
    analyse(str(tmp_path))
    assert _files(good) == TEXT
    assert not (bad / "ASCEND_PROFILER_OUTPUT").exists()
    printed = capsys.readouterr()
    assert ("\x1b[" in printed.err) == (place == "terminal")  # it moves
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.err)
    last = {line.split()[0]: line for line in plain.splitlines() if line.strip()}
    assert set(last) == {"good_ascend_pt", "bad_ascend_pt"}
    assert re.search(r"━+ +100% operators \d:\d\d:\d\d", last["good_ascend_pt"])
    assert "failed" in last["bad_ascend_pt"] and "%" not in last["bad_ascend_pt"]
    [error] = [line for line in printed.out.splitlines() if "[ERROR]" in line]  # messages stay on stdout
    assert str(bad) in error and "JSONDecodeError" in error


def test_a_user_display_does_not_stop_the_parsing(recorded: Recorded, tmp_path: Path) -> None:
    from rich.progress import Progress as Display

    folder = _result(tmp_path / "a_ascend_pt")
    with Display(disable=False):
        analyse(str(folder))
    assert _files(folder) == TEXT
