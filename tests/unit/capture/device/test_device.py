"""The simulated device: scripts of users run unchanged; builds; what happens to processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.capture.scripts import NO_TORCH, ROOT

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
RUN = [sys.executable, "-m", "tb_npu_plugin.capture.run"]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason=NO_TORCH)
#: The folder of the extension that the user, or tools/ensure_device.sh, has built.
CACHE = os.environ.get("TB_NPU_CACHE_DIR", "")
#: In front of a script, whose words are changed too: it runs on the host, for reference.
ON_THE_HOST = """
import types, torch
torch.Tensor.npu = torch.nn.Module.npu = lambda self, *values, **options: self
torch.npu = types.SimpleNamespace(set_device=print, synchronize=print)
torch.Tensor.pin_memory = lambda self: self
"""
WORDS = {
    "import torch_npu\n": "",
    "from torch_npu.npu.amp import GradScaler, autocast": "import functools\n"
    "GradScaler = functools.partial(torch.amp.GradScaler, 'cpu')\nautocast = functools.partial(torch.autocast, 'cpu')",
    "from torch_npu.contrib import transfer_to_npu  # noqa: F401": "",
    '{"pin_memory_device": "npu"}': "{}",
    '"npu"': '"cpu"',
    ".cuda()": "",
    '"cuda"': '"cpu"',
    "torch.cuda.set_device(0)": "",
    "torch.cuda.synchronize()": "",
    '"cuda:0"': '"cpu"',
}


def start(arguments: list[Any], folder: Path, **variables: str) -> subprocess.Popen[str]:
    # with bytecode: without it each process compiles the sources of PyTorch
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", **variables}
    environment.pop("TB_NPU_CACHE_DIR", None)
    if CACHE:
        environment["TB_NPU_CACHE_DIR"] = CACHE
    environment.update(variables)
    command = [*map(str, arguments)]
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )  # fmt: skip


def run(arguments: list[Any], folder: Path, status: int = 0, **variables: str) -> tuple[str, str]:
    process = start(arguments, folder, **variables)
    out, errors = process.communicate()
    assert process.returncode == status, out + errors
    return out, errors


def load(path: Path) -> list[Any]:
    import torch

    tensors: list[Any] = torch.load(path, map_location="cpu")
    return tensors


def check(found: list[Any], expected: list[Any], tolerance: float) -> None:
    import torch

    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def test_inside(tmp_path: Path) -> None:
    """All tests of the folder `inside`, in a process that has the device."""
    out, _ = run(
        [*RUN, "-m", "pytest", "-p", "no:cacheprovider", HERE / "inside"],
        ROOT,
        PYTEST_ADDOPTS="",
        PYTHONDONTWRITEBYTECODE="",
    )
    assert "100%" in out and "s" not in out.partition("[100%]")[0]  # none is skipped


#: Script -> largest difference of a gradient. amp: bfloat16 has 8 bits, and the two devices cast at other places.
#: native: Adam divides by the square root of small second moments; the others use SGD.
TOLERANCES = {
    "transfer": 1e-6,
    "native": 1e-5,
    "amp": 5e-3,
    "inference": 1e-6,
    "recurrent": 1e-6,
    "loader": 1e-6,
    "sparse": 1e-6,
}


def test_names_of_the_vendor(tmp_path: Path) -> None:
    run([*RUN, SCRIPTS / "vendor_names.py", tmp_path / "out"], tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", TOLERANCES)
def test_gradients_equal_those_of_the_host(name: str, tmp_path: Path) -> None:
    script = SCRIPTS / f"{name}.py"
    text = "".join(line for line in script.read_text().splitlines(True) if not line.strip().startswith("assert"))
    for word, other in WORDS.items():
        text = text.replace(word, other)
    reference = tmp_path / "reference.py"
    reference.write_text(ON_THE_HOST + text)
    one, other = (
        start([*RUN, script, tmp_path / "out"], tmp_path),
        start([sys.executable, reference, tmp_path / "expected"], tmp_path),
    )
    for process in (one, other):
        out, errors = process.communicate()
        assert process.returncode == 0, out + errors
    check(load(tmp_path / "out"), load(tmp_path / "expected"), TOLERANCES[name])


@pytest.mark.full
@pytest.mark.parametrize("name", ["manual_profile", "dynamic", "offline"])
def test_scripts_that_profile(name: str, tmp_path: Path) -> None:
    run([*RUN, SCRIPTS / f"{name}.py", tmp_path / "out"], tmp_path)
    assert load(tmp_path / "out")


@pytest.mark.full
@pytest.mark.parametrize("name", ["ddp", "fsdp2"])
def test_two_ranks_train_as_one_process_on_all_data(name: str, tmp_path: Path) -> None:
    import torch
    from torch import nn
    from torch.distributed import fsdp

    if name == "fsdp2" and not hasattr(fsdp, "fully_shard"):
        pytest.skip("FSDP2 is public since PyTorch 2.6; before 2.5 it runs with CUDA only")
    _, errors = run(
        [*RUN, "-m", "torch.distributed.run", "--nproc-per-node", 2, SCRIPTS / f"{name}.py", tmp_path / "out"], tmp_path
    )
    assert errors.count("the NPU is simulated") == 1
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model, whole = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)), torch.randn(16, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(whole).square().mean().backward()
        optimizer.step()
    check(load(tmp_path / "out"), [p.grad for p in model.parameters()], 1e-6)


def test_a_script_runs_as_python_runs_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, helper\nprint(sys.argv[1:], __name__, 'torch' in sys.modules)\nsys.exit(helper.CODE)"
    )
    (tmp_path / "helper.py").write_text("CODE = 7")
    out, errors = run([*RUN, script, "-m", "--x"], ROOT, 7)
    assert (out, errors) == ("['-m', '--x'] __main__ False\n", "")  # without PyTorch nothing is loaded or said
    (tmp_path / "helper.py").write_text("raise ValueError('mine')")
    plain = run([sys.executable, script], ROOT, 1)
    assert run([*RUN, script], ROOT, 1) == plain


@pytest.mark.full
def test_an_interrupted_script_ends_as_python_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, time\nx = torch.ones(9, device='npu')\nprint('ready', flush=True)\nwhile True: x + 1"
    )
    process = start([*RUN, script], tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.full
def test_inside_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from tb_npu_plugin.capture.pytorch import torch_npu\n"
        "import torch, torch_npu as again\n"
        "assert again is torch_npu and torch.ones(2).npu().sum().item() == 2 and torch_npu.profiler.profile\n"
    )
    _, errors = run([sys.executable, script], tmp_path)
    assert errors.count("the NPU is simulated") == 1


# ---- builds


@pytest.mark.full
def test_two_processes_build_once_and_what_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    build = [sys.executable, "-m", "tb_npu_plugin", "build-device"]
    first = start(
        [sys.executable, "-c", "from tb_npu_plugin.cli import main; main()", "build-device"],
        tmp_path,
        TB_NPU_CACHE_DIR=str(cache),
    )
    while not list(cache.glob("device/.building-*/")):
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not list(cache.glob("device/*.so"))
    code = [sys.executable, "-c", "from tb_npu_plugin.cli import main; main()", *build[3:]]
    processes = [start(code, tmp_path, TB_NPU_CACHE_DIR=str(cache)) for _ in range(2)]
    said = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert sum("Building" in errors for _, errors in said) == 1 and said[0][0] == said[1][0]


def test_what_cannot_be_built_is_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch")
    variables = {"TB_NPU_CACHE_DIR": str(tmp_path / "empty"), "CXX": "no-such-compiler"}
    _, errors = run([*RUN, script], tmp_path, 1, **variables)
    assert errors.count("\n") == 1 and "cannot be built: CXX is 'no-such-compiler'" in errors


def test_the_number_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    from tb_npu_plugin.capture.device import build, load

    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "2,3")
    assert load._device_count() == 2
    for wrong in ("0", "65", "two"):
        monkeypatch.setenv("TB_NPU_DEVICES", wrong)
        with pytest.raises(build.NotBuilt, match=f"TB_NPU_DEVICES={wrong} is not a number from 1 to 64"):
            load._device_count()


def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tb_npu_plugin.capture.device import build

    (tmp_path / "file").touch()
    monkeypatch.setenv("TB_NPU_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(build.tempfile, "gettempdir", lambda: str(tmp_path))
    said: list[str] = []
    folder = build._folder(said.append)
    assert folder == tmp_path.resolve() / f"tb-npu-plugin-{os.geteuid()}" / "device"
    assert folder.stat().st_mode & 0o777 == 0o700 and len(said) == 1 and str(folder) in said[0]
