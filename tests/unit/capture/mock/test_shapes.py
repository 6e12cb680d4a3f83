"""Where the shapes of operators come from: the raw trace, the observer beside PyTorch's profiler, or a step before the capture."""

from __future__ import annotations

import os
import shutil
import stat
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tb_npu_plugin.capture.mock import host, observer, recorder, torch_profiler
from tb_npu_plugin.capture.observer_command import build_observer
from tb_npu_plugin.capture.recording.observer_build import NotBuilt, build

from tb_npu_plugin.capture import pytorch as profiler
from tb_npu_plugin.capture.backend import RAW_FOLDER, HostSwitches
from tb_npu_plugin.capture.recording.host_lane import LIST, Reader, Signature
from tb_npu_plugin.capture.recording.raw_data import CAPTURE, OBSERVED, SHAPES, TRACE
from tb_npu_plugin.capture.simulation.records import outer_first
from tb_npu_plugin.errors import BadFile
from tests.oracle.raw import FULL
from tests.unit.capture.recording.test_real_run import kernels, train
from tests.unit.capture.scripts import needs_torch, run_python

EVENT = """
  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 7, "tid": 8,
    "ts": %s, "dur": 1.501
    ,
    "args": {
      "Sequence number": 3, "Input type": ["float", "TensorList", "Scalar"], "Input Dims": [[2, 3], [[4], [5]], []]
    }
  }"""
FRAME = '{"schemaVersion": 1,\n"baseTimeNanoseconds": 1000000000000000000,\n"traceEvents": [%s\n  ],"traceName": "x"}'


def test_the_trace_keeps_nanoseconds_and_replaces_invalid_utf8_and_skips_a_bad_event(tmp_path: Path) -> None:
    names = (("aten::cat", "4400792140206.152"), ("bad", "oops"), ("model@.py(1): f", "4400792140207.153"))
    content = FRAME % ",".join(EVENT % name for name in names)
    (tmp_path / "t.json").write_bytes(content.encode().replace(b"@", b"\xe9"))
    recorded = Reader().read(tmp_path / "t.json", lambda done: None)
    assert recorded.lost == 1
    assert [(call.signature.name, call.start, call.end - call.start) for call in recorded.calls] == [
        ("aten::cat", 1004400792140206152, 1501),
        ("model\ufffd.py(1): f", 1004400792140207153, 1501),
    ]
    signature = recorded.calls[0].signature
    assert signature.tensors == (((2, 3), "float"), ((4,), LIST), ((5,), LIST))
    assert signature.shapes == "2,3;\r\n4;\r\n5;\r\n"
    assert signature.types == "float;\r\nTensorList;\r\nTensorList;\r\nScalar"


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2}', "[[1]]", "[[1, [[]], [0]]]", '[[1, [["a"]], [1]]]'])
def test_raw_data_of_another_format(tmp_path: Path, content: str) -> None:
    (tmp_path / RAW_FOLDER).mkdir()
    for name in (CAPTURE, OBSERVED):
        (tmp_path / RAW_FOLDER / name).write_text(content)
    with pytest.raises(BadFile):
        host.read(tmp_path)
    with pytest.raises(BadFile, match="cannot be used"):
        observer.read(tmp_path / RAW_FOLDER / OBSERVED)


# -- the observer -----------------------------------------------------------------------------------
@pytest.fixture
def built() -> None:
    if not observer.is_there():
        pytest.skip("the observer is not built: see docs/capture.md")


def operators_of_many_kinds() -> None:
    """A training step of what a network has; lists of tensors, of several types, some of them empty or optional."""
    import torch

    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2, 1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ConvTranspose2d(8, 4, 3),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 4),
    )
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(2, 3, 16, 16)).sum().backward()
        optimizer.step()
    ones = torch.ones(4)
    torch.cat([ones.bfloat16(), ones.bfloat16()])
    torch.stack([ones.half(), ones.half()])
    torch.split(ones, [1, 3])
    ones[torch.tensor([1, 2])] = 3.0
    torch.index_put(ones, [torch.tensor([0])], torch.tensor([1.0]))
    torch._foreach_add([torch.zeros(2, 3), torch.zeros(5)], 1.0)


def observe(work: Callable[[], Any], folder: Path) -> list[Signature]:
    """What the observer sees of this thread."""
    observer.start()
    try:
        work()
    finally:
        (folder / OBSERVED).write_bytes(observer.stop())
    return observer.read(folder / OBSERVED)[threading.get_native_id()]


@needs_torch
@pytest.mark.usefixtures("built")
def test_observed_shapes_equal_those_of_pytorchs_profiler(tmp_path: Path) -> None:
    recording = torch_profiler.make(HostSwitches(), shapes=True)
    recording.prepare_trace()
    torch_profiler.start_operators(recording)
    ours = observe(operators_of_many_kinds, tmp_path)
    torch_profiler.stop(recording)
    torch_profiler.save(recording, tmp_path / TRACE)
    calls = Reader().read(tmp_path / TRACE, lambda done: None).calls
    theirs = [call.signature for call in outer_first(calls) if call.tid == threading.get_native_id()]
    assert len(ours) > 20 and [one.name for one in ours] == [one.name for one in theirs]
    for one, other in zip(ours, theirs):
        assert [shape for shape, _ in one.tensors] == [shape for shape, _ in other.tensors], one.name
        types = [(mine, theirs) for (_, mine), (_, theirs) in zip(one.tensors, other.tensors)]
        assert all(mine == theirs or (theirs == LIST and mine != LIST) for mine, theirs in types), (one.name, types)
        assert len(one.values) == len(other.values), one.name
        assert all(mine in ("", value) for mine, value in zip(one.values, other.values)), (one.values, other.values)
    assert any(value not in ("", "True", "False") for one in ours for value in one.values)


@needs_torch
@pytest.mark.usefixtures("built")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_is_not_observed_and_can_observe_itself(tmp_path: Path) -> None:
    """Cause: worker processes of a DataLoader recorded shapes without end."""
    import torch

    def work() -> None:
        torch.ones(2).cos()  # the parent's: the child does not tell them
        pid = os.fork()
        if not pid:
            try:
                torch.ones(2).exp()
                text = observer.stop()
                found = [one.name for one in observe(torch.ones(2).sin, tmp_path)]
                os._exit(0 if text == b"[]" and found.count("aten::sin") == 1 else 1)
            finally:  # whatever it raises: not a second one that runs the tests
                os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        torch.ones(2).neg()

    assert "aten::neg" in [one.name for one in observe(work, tmp_path)]


@needs_torch
@pytest.mark.usefixtures("built")
def test_shapes_that_change_from_step_to_step_without_a_schedule(tmp_path: Path) -> None:
    """Cause: a step before the capture knows its own shapes alone, and without a schedule there is none."""
    import torch

    def record(shapes: bool) -> list[tuple[str, ...]]:
        handler = profiler.tensorboard_trace_handler(str(tmp_path / str(shapes)))
        level = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
        with profiler.profile(on_trace_ready=handler, record_shapes=shapes, experimental_config=level):
            for size in (3, 5, 9):
                torch.ones(size, 4) @ torch.ones(4, size)
                if size > 4:
                    torch.ones(size).exp()
        return kernels(next((tmp_path / str(shapes)).glob("*_ascend_pt")))

    found = record(False)
    assert len(found) > 4 and found == record(True)


# -- tb-npu build-observer --------------------------------------------------------------------------
needs_headers = pytest.mark.skipif(
    not (Path(sysconfig.get_path("include")) / "Python.h").is_file(), reason="Python's headers are not installed"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is built; the install brought none."""
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(observer, "installed", lambda torch: None)
    return tmp_path.resolve() / "cache" / "observer"


def refused() -> str:
    with pytest.raises(NotBuilt) as caught:
        build(lambda doing: None)
    return f"{caught.value.message}. {caught.value.hint}"


@needs_torch
@needs_headers
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@FULL
def test_it_is_built_tried_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.delenv("CXX", raising=False)
    done = CliRunner().invoke(build_observer)
    assert done.exit_code == 0, done.output
    (path,) = folder.iterdir()
    assert str(path) in done.output and torch.__version__ in path.name
    assert {stat.S_IMODE(part.stat().st_mode) for part in (folder.parent, folder, path)} == {0o700}
    native = observer.built(torch)
    assert native is not None
    native.start()
    torch.ones(2, 3).neg()
    assert b'["aten::neg",["float",2,3]]' in native.stop()
    monkeypatch.setenv("CXX", "false")  # it is not compiled again
    assert build(lambda doing: None) == path
    folder.chmod(0o777)
    assert observer.built(torch) is None, "others could have put it there"


@needs_torch
@needs_headers
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("compiler", "reason"), [("", "there is no compiler"), ("/no/such -m64", "'/no/such', which is no")]
)
def test_without_a_compiler(compiler: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reason in refused() and "Install g++" in refused()


@needs_torch
@pytest.mark.usefixtures("folder")
def test_without_pytorch_or_with_one_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_profiler, "tells_nanoseconds", lambda: False)
    assert "PyTorch 2.4 or later" in refused()
    with pytest.raises(RuntimeError, match=r"PyTorch 2\.4 or later"):
        torch_profiler.refuse_second()
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')")
    code = "import sys; sys.argv[1:] = ['build-observer']; from tb_npu_plugin.cli import main; main()"
    done = run_python(code, tmp_path, tmp_path)
    assert done.returncode == 1
    assert "the observer belongs to a PyTorch" in done.stderr and "Install PyTorch there" in done.stderr


# -- a step before the capture ----------------------------------------------------------------------
@needs_torch
@pytest.mark.parametrize("warmup", [1, pytest.param(0, marks=FULL)])
def test_a_training_without_shapes_has_the_kernels_of_one_with_them(
    tmp_path: Path, warmup: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(observer, "is_there", lambda: False)
    monkeypatch.setattr(recorder, "_told", [])
    steps: dict[str, Any] = {"active": 2 + warmup, "warmup": warmup, "with_modules": True}
    shown, hidden = (train(tmp_path / str(shapes), record_shapes=shapes, **steps) for shapes in (True, False))
    raw, sampled = ({path.name for path in (folder / RAW_FOLDER).iterdir()} for folder in (shown, hidden))
    assert sampled - raw == {SHAPES}
    assert "Input Dims" not in (hidden / RAW_FOLDER / TRACE).read_text()
    found = kernels(shown)
    assert len({step for step, *_ in found}) == 2 + warmup and any(type_ == "Conv2D" for _, _, type_, _ in found)
    assert kernels(hidden) == found
    errors = capsys.readouterr().err
    assert errors.count("`tb-npu build-observer`") == 1 and "from one step before it" in errors
