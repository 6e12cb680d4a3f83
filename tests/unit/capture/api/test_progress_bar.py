"""What is seen of parsing on stderr: moving bars on a terminal, one line a folder elsewhere."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from tb_npu_plugin.capture.api.parsing import analyse
from tests.unit.capture.api.conftest import Recorded, Said
from tests.unit.capture.api.test_parsing import _result
from tests.unit.capture.api.test_parsing_elsewhere import STEERS_RICH

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen(io.StringIO):
    """A stderr that is a terminal, or is none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def _parse(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    _result(tmp_path / "good_ascend_pt")
    _result(tmp_path / "bad_ascend_pt", raw="{")
    screen = Screen(terminal)
    for name in STEERS_RICH:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", screen)
    analyse(str(tmp_path))
    return screen.getvalue()


def test_bars_on_a_terminal(tmp_path: Path, recorded: Recorded, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    written = _parse(True, tmp_path, monkeypatch)
    assert "\x1b[" in written  # it moves
    last = {line.split()[0]: line for line in CONTROL.sub("", written).splitlines() if "_ascend_pt" in line}
    assert set(last) == {"good_ascend_pt", "bad_ascend_pt"}
    assert re.search(r"━+ +100% operators \d:\d\d:\d\d", last["good_ascend_pt"])
    assert "failed" in last["bad_ascend_pt"]
    assert "%" not in last["bad_ascend_pt"]
    assert all("ascend_pt" in text or "parsed in" in text for _, text in said())  # messages stay on stdout, as they are


@pytest.mark.parametrize("notebook", [False, True])
def test_one_line_a_folder_elsewhere(
    notebook: bool, tmp_path: Path, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook, too, where ipywidgets is missing."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: notebook)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.setattr("tb_npu_plugin.capture.api.progress_bar.find_spec", lambda name: None)
    written = _parse(False, tmp_path, monkeypatch)
    assert "\x1b" not in written
    lines = sorted(line.split()[0] + " " + line.split()[-2] for line in written.splitlines() if line.strip())
    assert lines == ["bad_ascend_pt failed", "good_ascend_pt operators"]
