"""The examples of the vendor's documentation run with only their import changed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DOCUMENT = ROOT.parent / "shared/vendor-docs/001_604926c0bd83b9cf.txt"
EXAMPLES = HERE / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "training.py")
MARKED = re.compile(r"^ *# vendor\n(.*?)^ *# end$", re.M | re.S)

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: see docs/capture.md"
)
#: The mock device records, where it is; otherwise a fake does.
BACKENDS = ["fake", "mock"] if importlib.util.find_spec("tb_npu_plugin.capture.mock") else ["fake"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_code_is_the_vendors(script: Path) -> None:
    if not DOCUMENT.exists():
        pytest.skip(f"no vendor documentation: {DOCUMENT} is not there")
    vendor = re.sub(r"\s", "", DOCUMENT.read_text(encoding="utf-8"))
    blocks = MARKED.findall(script.read_text())
    assert blocks or script.stem == "offline"  # the other half of offline_analyse
    for block in blocks:
        assert re.sub(r"\s", "", block) in vendor


class Run:
    """A script that has run in a folder of its own."""

    def __init__(self, name: str, folder: Path, backend: str) -> None:
        self.folder = folder
        self.backend = backend
        command = [sys.executable, "-m", "tests.capture_scripts.run", str(EXAMPLES / f"{name}.py")]
        environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "ASCEND_WORK_PATH")}
        environment.update(PYTHONPATH=str(ROOT), TB_NPU_BACKEND="mock")
        done = subprocess.run(
            command + (["fake"] if backend == "fake" else []),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stdout
        assert done.returncode == 0, done.stderr
        assert "[ERROR]" not in done.stdout

    def results(self, below: str = "result") -> list[Path]:
        """Its result folders, which are parsed."""
        found = sorted((self.folder / below).glob("*_ascend_pt"))
        for folder in found:
            assert (folder / "ASCEND_PROFILER_OUTPUT/analyse.done").is_file()
            assert (folder / "ASCEND_PROFILER_OUTPUT/trace_view.json").is_file()
        return found

    def names(self, trace: str) -> set[str]:
        """Names of the events of a trace."""
        return {event["name"] for event in json.loads((self.folder / trace).read_text())}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@needs_torch
def test_profile_with_schedule(tmp_path: Path, backend: str) -> None:
    run = Run("profile_with_schedule", tmp_path, backend)
    results = run.results()
    assert len(results) == 2  # repeat=2
    info = json.loads((results[0] / "profiler_info.json").read_text())
    assert info["config"]["common_config"]["schedule"]["skip_first"] == 10
    assert info["config"]["experimental_config"]["_data_simplification"] is False
    if backend == "mock":
        steps = [name for result in results for name in run.names(str(_trace(result))) if "ProfilerStep" in name]
        assert sorted(steps) == [f"ProfilerStep#{number}" for number in (12, 13, 16, 17)]


def _trace(result: Path) -> Path:
    return result / "ASCEND_PROFILER_OUTPUT/trace_view.json"


@needs_torch
def test_profile_start_stop(tmp_path: Path, backend: str) -> None:
    run = Run("profile_start_stop", tmp_path, backend)
    [result] = run.results()
    if backend == "mock":
        assert "ProfilerStep#1" in run.names(str(_trace(result)))


@needs_torch
def test_profile_export_trace(tmp_path: Path, backend: str) -> None:
    run = Run("profile_export_trace", tmp_path, backend)
    traces = sorted(path.name for path in tmp_path.iterdir())
    assert len(traces) == 2  # and export_only_prof_dir is gone
    assert "chrome_trace_14.json" in traces
    for trace in traces:
        assert "aten::add" in run.names(trace) or "aten::addmm" in run.names(trace)


@needs_torch
def test_kineto_profile(tmp_path: Path, backend: str) -> None:
    run = Run("kineto_profile", tmp_path, backend)
    assert [path.name for path in tmp_path.iterdir()] == ["result_dir"]
    assert run.names("result_dir/trace.json")


@needs_torch
def test_export_stacks(tmp_path: Path, backend: str) -> None:
    Run("export_stacks", tmp_path, backend)
    lines = (tmp_path / "resule_dir/stack.log").read_text().splitlines()
    assert lines
    assert all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines)


@needs_torch
def test_one_step(tmp_path: Path, backend: str) -> None:
    assert len(Run("one_step", tmp_path, backend).results()) == 1


@needs_torch
def test_metadata(tmp_path: Path, backend: str) -> None:
    run = Run("metadata", tmp_path, backend)
    [result] = run.results()
    metadata = json.loads((result / "profiler_metadata.json").read_text())
    assert metadata["test_key1"] == "test_value1"
    assert "test_key2" not in metadata  # a list is no text: the example is wrong, and torch_npu says so
    assert "The key and value of metadata must be string. Skip this metadata." in run.said
    assert metadata["test_key3"] == [1, 2, 3]
    assert metadata["tb_npu_simulated"]


@needs_torch
def test_offline(tmp_path: Path, backend: str) -> None:
    """What one process has recorded, another parses later."""
    Run("offline", tmp_path, backend)
    assert not list(tmp_path.rglob("ASCEND_PROFILER_OUTPUT"))
    run = Run("offline_analyse", tmp_path, backend)
    assert len(run.results("result_data")) == 1
    assert "Start parsing profiling data in sync mode at: " in run.said
