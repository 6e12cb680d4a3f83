"""Shapes of a step before the capture: one that runs the same operators has the same kernels as with shapes of its own.

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
from tb_npu_plugin.capture.mock.kineto import Call, Reader, Signature
from tb_npu_plugin.capture.mock.recorder import MockRecorder
from tb_npu_plugin.capture.mock.replay import STEP
from tb_npu_plugin.capture.mock.shapes import Sample
from tests.oracle.raw import Raw
from tests.unit.capture.mock.training import train

LAYERS = [
    "embedding",
    "linear",
    "relu",
    "linear",
    "add",
    "norm",
    "linear",
    "gelu",
    "linear",
    "add",
    "norm",
    "view",
    "head",
    "softmax",
    "loss",
]
MAIN = 7


@pytest.fixture(autouse=True)
def _no_observer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "is_there", lambda: False)


def calls(names: list[str], start: int = 0, tid: int = MAIN, shaped: bool = False) -> list[Call]:
    """Operators one after the other; the shape of each is its place."""
    return [
        Call(start + at * 10, start + at * 10 + 5, tid, Signature(name, (((at,), "float"),) if shaped else ()))
        for at, name in enumerate(names)
    ]


def places(found: list[Call]) -> list[int | None]:
    """The place in the warm-up whose shape each operator has; None: no shape."""
    return [call.signature.tensors[0][0][0] if call.signature.tensors else None for call in found]


def applied(sampled: list[str], recorded: list[str]) -> list[int | None]:
    return places(Sample.of(calls(sampled, shaped=True)).beside_steps(calls(recorded, 10_000), STEP))


def test_the_same_order() -> None:
    assert applied(LAYERS, LAYERS) == list(range(len(LAYERS)))


def test_an_operator_more_takes_the_shapes_met_last_and_the_rest_stays_in_step() -> None:
    recorded = [*LAYERS[:3], "linear", *LAYERS[3:]]
    assert applied(LAYERS, recorded) == [0, 1, 2, 3, 3, *range(4, 15)]
    recorded = [*LAYERS[:5], "relu", *LAYERS[5:]]
    assert applied(LAYERS, recorded) == [0, 1, 2, 3, 4, 2, *range(5, 15)]


@pytest.mark.parametrize("stepping", [True, False])
def test_the_thread_that_steps_is_sampled_alone(tmp_path: Path, stepping: bool) -> None:
    """Cause: an operator of another thread that outlasted the sample ended in memory that was freed."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
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


@pytest.mark.parametrize("warmup", [1, 0])
def test_a_training_without_shapes_has_the_kernels_of_one_with_them(tmp_path: Path, warmup: int) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
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


@pytest.mark.parametrize("switches", [{"active": 1}, {"npu": False}])
def test_where_a_sample_saves_nothing_there_is_none(tmp_path: Path, switches: dict[str, Any]) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
    folder = train(tmp_path, **{"active": 3, **switches})
    assert not (folder / RAW_FOLDER / SHAPES).exists()
    has_shapes = "Input Dims" in (folder / RAW_FOLDER / TRACE).read_text()
    assert has_shapes == ("active" in switches)


def test_a_sample_that_cannot_be_written_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: see docs/capture.md")
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
    ("steps", "said"),
    [
        ({"active": 2}, "from one step before it"),
        ({"active": 1}, "PyTorch records them"),
        ({"active": 2, "record_shapes": True}, ""),
        ({"active": 2, "npu": False}, ""),
    ],
)
def test_what_makes_captures_cheaper_is_told_once_where_it_would(
    steps: dict[str, Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(recorder, "_told", [])
    for number in range(2):
        train(tmp_path / str(number), **steps)
    errors = capsys.readouterr().err
    assert errors.count("`tb-npu build-observer`") == bool(said)
    assert said in errors
