"""Parsing in other processes: what the user sees of it, and that each way does the same work."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Callable

import pytest

from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api import parser_process, parsing
from tb_npu_plugin.capture.api.handler import tensorboard_trace_handler
from tb_npu_plugin.capture.api.parsing import analyse
from tb_npu_plugin.capture.api.profile import profile
from tb_npu_plugin.capture.backend import Progress
from tests.unit.capture.api import fake
from tests.unit.capture.api.conftest import QUIET, Recorded, Said
from tests.unit.discovery.test_watch import until

#: An end of parsers that wait in vain, not a time that anything here takes.
SECONDS = 300
#: Variables by which it takes a terminal for none, or the other way.
STEERS_RICH = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
OUTPUT = "ASCEND_PROFILER_OUTPUT"
SHOW = f"""
from tb_npu_plugin.capture import backend
from tb_npu_plugin.capture.api.parsing import analyse
backend.choose(backend.Backend("test", backend.current().recorder, "{__name__}:in_parts"))
analyse("result")
"""

Report = Callable[[Progress], None]


def wait_for(path: Path) -> None:
    end = time.monotonic() + SECONDS
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def in_parts(folder: Path, out: Path, export_types: Sequence[str], progress: Report) -> None:
    """Tells of a quarter of its work and goes on when that was seen."""
    progress(Progress(25, 100, "reading"))
    wait_for(folder / "go")
    progress(Progress(100, 100, "writing"))


def once_let(folder: Path, out: Path, export_types: Sequence[str], progress: Report) -> None:
    """Waits until the training has gone on; writes which process it is."""
    (out / "pid").write_text(str(os.getpid()))
    wait_for(folder / "go")
    fake.parse(folder, out, export_types, progress)


def killed_half_way(folder: Path, out: Path, export_types: Sequence[str], progress: Report) -> None:
    (out / "operator_details.csv").write_text("half a li")
    os.kill(os.getpid(), 9)


def parsers_in(folder: Path) -> set[str]:
    """The processes that parse it, by the folders that they fill (once_let)."""
    return {path.read_text() for path in folder.glob(f"{OUTPUT}*/pid")} - {""}


def use(parser: Callable[..., None]) -> None:
    backend.choose(backend.Backend("test", backend.current_backend().recorder, f"{__name__}:{parser.__name__}"))


def capture(**switches: bool) -> Path:
    """A capture; gives its folder, the last of "result"."""
    with profile(on_trace_ready=tensorboard_trace_handler("result", **switches), experimental_config=QUIET):
        pass
    return max(Path("result").iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / OUTPUT).iterdir()}


def said_on(terminal: int) -> Iterator[str]:
    """All that a process has written on its terminal so far, whenever there is more, until it closes it."""
    said = b""
    while True:
        try:
            said += os.read(terminal, 1 << 16)
        except OSError:
            return
        text = said.decode("utf-8", "ignore")  # a character may come in two pieces
        yield re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")


def bars_of(name: str, said: str) -> list[tuple[str, str]]:
    return re.findall(rf"{name} +[━╸╺ ]+ +(\d+)% +(\w+) ", said)


def test_a_terminal_shows_a_bar_for_each_folder(recorded: Recorded) -> None:
    folders = [capture(analyse_flag=False) for _ in range(2)]
    terminal, end = pty.openpty()
    others = {name: value for name, value in os.environ.items() if name not in STEERS_RICH}
    environment = {**others, "TERM": "xterm", "COLUMNS": "200", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", SHOW], stderr=end, stdout=subprocess.DEVNULL, env=environment):
        os.close(end)
        for said in said_on(terminal):
            for folder in folders:
                if ("25", "reading") in bars_of(folder.name, said):
                    (folder / "go").touch()
    os.close(terminal)
    for folder in folders:
        shown = bars_of(folder.name, said)
        assert ("25", "reading") in shown and shown[-1] == ("100", "writing")


def test_a_folder_is_parsed_by_one_at_a_time(recorded: Recorded, said: Said) -> None:
    # analyse() during parsing in the background deleted what that one was writing.
    use(once_let)
    folder = capture(async_mode=True)
    assert until(lambda: len(parsers_in(folder)) == 1)
    [first] = parsers_in(folder)
    other = threading.Thread(target=analyse, args=("result",))
    other.start()
    assert not until(lambda: parsers_in(folder) != {first}, 1.0), "it waits"
    (folder / "go").touch()
    other.join()
    parsing._background.pop().shutdown(wait=True)
    assert [text for kind, text in said() if kind == "ERROR"] == []
    assert (folder / OUTPUT / parsing.DONE_FILE).exists() and parsers_in(folder) not in ({first}, set())


def test_after_control_c_no_process_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: for each folder that was still to come one began, and was killed as soon as the thread got to it."""
    monkeypatch.setattr(subprocess, "Popen", None)
    children = parser_process.Children()
    children.end()
    with pytest.raises(parser_process.ParseFailed, match="interrupted"):
        parser_process.run_parser(tmp_path, tmp_path, [], None, children)


def test_parsing_that_was_interrupted_is_finished_by_analyse(recorded: Recorded, said: Said) -> None:
    whole = contents(capture())
    [folder] = Path("result").iterdir()
    good = backend.current_backend()
    use(killed_half_way)
    analyse("result")
    assert any(kind == "ERROR" and "killed by signal 9" in text for kind, text in said())
    assert contents(folder) == whole  # half a result does not take the place of a whole one
    backend.choose(good)
    analyse("result")
    assert contents(folder) == whole
