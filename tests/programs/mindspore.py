"""Scripts that run with MindSpore's own package."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.conftest import ROOT
from tests.programs import python_of

EXAMPLES = Path(__file__).parent / "mindspore_examples"


def run_script(folder: Path, script: Path, *arguments: str, simulated: bool = True, **variables: str) -> str:
    """Run a script in a folder, under `tb-npu run` unless `simulated` is False; gives what it printed. Skips where MindSpore
    could not be installed."""
    command = [*(["-m", "tb_npu_plugin.capture.run"] if simulated else []), str(script), *arguments]
    return _run(python_of("mindspore"), folder, command, str(ROOT), variables)


def run_mindformers(folder: Path, script: Path, *arguments: str) -> str:
    """Run a script in a folder with mindformers and the MindSpore of the other scripts."""
    (packages,) = (python_of("mindspore").parents[1] / "lib").glob("python*/site-packages")
    command = ["-m", "tb_npu_plugin.capture.run", str(script), *arguments]
    return _run(python_of("mindformers"), folder, command, f"{ROOT}{os.pathsep}{packages}", {})


def _run(python: Path, folder: Path, command: list[str], path: str, variables: dict[str, str]) -> str:
    environment = {**os.environ, "PYTHONPATH": path, "GLOG_v": "2", **variables}
    done = subprocess.run(
        [str(python), *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def run_example(name: str, folder: Path) -> str:
    """Run an example of the vendor's documents in a folder, with the files and variables that it needs; gives what it printed."""
    folder.mkdir(parents=True)
    script = EXAMPLES / f"{name}.py"
    if name == "dynamic":
        (folder / "cfg_path").mkdir()
        shutil.copy(EXAMPLES / "profiler_config.json", folder / "cfg_path")
    if name == "environment":
        return run_script(folder, script, MS_PROFILER_OPTIONS=profiler_options(folder / "data"))
    if name == "mindformers_profile":
        return run_mindformers(folder, script, str(EXAMPLES / "mindformers.yaml"))
    return run_script(folder, script, DEVICE_ID="0", **POINTS)


#: As the oldest document sets them.
POINTS = {"FP_POINT": "fp32_vars/conv2d/BatchNorm", "BP_POINT": "loss_scale/gradients/AddN_70"}


def profiler_options(output: Path) -> str:
    """MS_PROFILER_OPTIONS of the example, with this folder instead of /XXX."""
    _, _, text = (EXAMPLES / "environment.sh").read_text().partition("'")
    return text.partition("'")[0].replace("/XXX", str(output))
