from __future__ import annotations

import io
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from tb_npu_plugin.capture.api import messages
from tests.unit.capture.api.conftest import Said


def test_warnings_can_be_silenced(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_NPU_DISABLED_WARNING", "1")
    messages.warn("look")
    messages.error("bad")
    messages.info("fine")
    assert said() == [("ERROR", "bad"), ("INFO", "fine")]
    monkeypatch.setenv("TORCH_NPU_WARNING_DISABLE", "0")  # the newer name counts
    messages.warn("look")
    assert said() == [("WARNING", "look")]


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_a_guarded_function_never_raises(said: Said) -> None:
    @messages.never_raises(set)
    def fail(problem: BaseException) -> set[str]:
        raise problem

    assert (fail(KeyError("this")), fail(Mute())) == (set(), set())
    assert said.errors() == [f"Call fail failed. Exception: {text}" for text in ("'this'", "Mute")]
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())


@pytest.mark.parametrize("variable", messages.MSPROF_VARIABLES)
def test_nothing_happens_while_msprof_drives(variable: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "on")
    calls: list[int] = []
    call = messages.never_raises()(calls.append)
    call(1)
    call(2)
    assert calls == []
    [(kind, text)] = said()  # once
    assert kind == "WARNING"
    assert variable in text


def test_characters_that_stdout_cannot_encode_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out, encoding="ascii"))
    messages.error("cannot write /données")
    assert out.getvalue().endswith(b"profiler.py: cannot write /donn\\xe9es\n")


def test_a_line_and_its_end_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: of folders that are parsed at the same time, the line of one came before the end of another's."""
    written: list[str] = []
    monkeypatch.setattr("sys.stdout", SimpleNamespace(write=written.append, flush=lambda: None))
    messages.error("bad")
    [line] = filter(None, written)
    assert line.endswith("profiler.py: bad\n")


def test_a_full_stdout_is_not_the_trainings_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Mock(encoding="utf-8", write=Mock(side_effect=OSError(28, "No space left"))))
    messages.error("bad")
