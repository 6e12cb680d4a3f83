"""Shapes of a step before the capture: one that runs the same operators has the same kernels as with recorded shapes.

That is what is done where there is no observer (test_observer.py).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.backend import RAW_FOLDER, Settings
from tb_npu_plugin.capture.mock import observer, recorder, torch_profiler
from tb_npu_plugin.capture.mock.host import SHAPES, TRACE
from tb_npu_plugin.capture.mock.kineto import Reader
from tb_npu_plugin.capture.mock.recorder import MockRecorder
from tests.oracle.raw import Raw
from tests.unit.capture.mock.training import train
from tests.unit.capture.scripts import needs_torch

pytestmark = needs_torch


@pytest.fixture(autouse=True)
def _no_observer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "is_there", lambda: False)


@pytest.mark.parametrize("stepping", [True, False])
def test_the_thread_that_steps_is_sampled_alone(tmp_path: Path, stepping: bool) -> None:
    """Cause: an operator of another thread that outlasted the sample ended in memory that was freed."""
    import torch

    recorder = MockRecorder()
    recorder.sample(Settings(), stepping)
    torch.ones(2).sum()
    thread = threading.Thread(target=lambda: torch.ones(3).neg())
    thread.start()
    thread.join()
    recorder.step_end(0)
    recorder.prepare(tmp_path, Settings())
    found = {call.signature.name for call in Reader().read(tmp_path / RAW_FOLDER / SHAPES, lambda done: None).calls}
    assert ("aten::sum" in found, "aten::neg" in found) == (True, not stepping)
    recorder.discard()


def kernels(folder: Path) -> list[tuple[str, ...]]:
    return [(row["Step Id"], row["Name"], row["Type"], row["Input Shapes"]) for row in Raw(folder).kernels]


@pytest.mark.parametrize("warmup", [1, pytest.param(0, marks=pytest.mark.full)])
def test_a_training_without_shapes_has_the_kernels_of_one_with_them(tmp_path: Path, warmup: int) -> None:
    folders = {
        shapes: train(tmp_path / str(shapes), active=2 + warmup, warmup=warmup, record_shapes=shapes, with_modules=True)
        for shapes in (True, False)
    }
    raw = {shapes: {path.name for path in (folder / RAW_FOLDER).iterdir()} for shapes, folder in folders.items()}
    assert raw[False] - raw[True] == {SHAPES}
    assert "Input Dims" not in (folders[False] / RAW_FOLDER / TRACE).read_text()
    found = kernels(folders[True])
    assert len({step for step, *_ in found}) == 2 + warmup and any(row[2] == "Conv2D" for row in found)
    assert kernels(folders[False]) == found


@pytest.mark.full
def test_a_sample_that_cannot_be_written_is_replaced_by_recorded_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save = torch_profiler.save

    def full(profile: Any, target: Path) -> None:
        if target.name == SHAPES:
            raise OSError("no space")
        save(profile, target)

    monkeypatch.setattr(torch_profiler, "save", full)
    folder = train(tmp_path, active=3)
    assert "no space" in capsys.readouterr().err
    assert "Input Dims" in (folder / RAW_FOLDER / TRACE).read_text()
    assert kernels(folder)


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ({"active": 2}, "from one step before it"),
        pytest.param({"active": 1}, "PyTorch records them", marks=pytest.mark.full),
        pytest.param({"active": 2, "record_shapes": True}, "", marks=pytest.mark.full),
        pytest.param({"active": 2, "npu": False}, "", marks=pytest.mark.full),
    ],
)
def test_the_hint_to_build_the_observer_is_printed_once(
    steps: dict[str, Any], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(recorder, "_told", [])
    for number in range(2):
        folder = train(tmp_path / str(number), **steps)
    errors = capsys.readouterr().err
    assert errors.count("`tb-npu build-observer`") == bool(hint)
    assert hint in errors
    if steps["active"] == 1:  # there is no step to sample
        assert not (folder / RAW_FOLDER / SHAPES).exists()
        assert "Input Dims" in (folder / RAW_FOLDER / TRACE).read_text()
