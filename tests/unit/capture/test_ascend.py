"""Backend ascend against a stand-in for torch_npu. No NPU was there: what a real one does is not shown by these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STANDIN = Path(__file__).parent / "ascend_standin"

#: Says which module each exported name comes from.
REPORT = """
import json, sys
import tb_npu_plugin.capture.pytorch as profiler
places = {name: getattr(getattr(profiler, name), "__module__", getattr(getattr(profiler, name), "__name__", ""))
          for name in profiler.__all__ if name not in ("BACKEND", "torch_npu")}
print(json.dumps({"backend": profiler.BACKEND, "places": places, "torch_npu": getattr(profiler.torch_npu, "__name__", "")}))
"""


def _run(script: str, standin: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *([str(STANDIN)] if standin else [])])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)


def _report(standin: bool = True, **variables: str) -> tuple[str, dict[str, str], str]:
    done = _run(REPORT, standin, **variables)
    assert done.returncode == 0, done.stderr
    *said, last = done.stdout.splitlines()
    found = json.loads(last)
    return found["backend"], found["places"], "\n".join(said)


def test_with_a_device_everything_is_torch_npus() -> None:
    backend, places, said = _report()
    assert backend == "ascend"
    assert said == ""
    assert len(places) == 19
    assert {place.split(".")[0] for place in places.values()} == {"torch_npu"}
    assert places["analyse"] == "torch_npu.profiler.profiler"
    assert places["dynamic_profile"] == "torch_npu.profiler.dynamic_profile"
    assert places["mstx"] == "torch_npu.npu"


def test_arguments_and_answers_pass_unchanged() -> None:
    done = _run(
        "from tb_npu_plugin.capture.pytorch import *\n"
        "from tb_npu_plugin.capture.pytorch import _ExperimentalConfig\n"
        "plan = schedule(1, 2, warmup=3)\n"
        "handler = tensorboard_trace_handler('./result')\n"
        "with profile(schedule=plan, on_trace_ready=handler, with_stack='odd',\n"
        "             experimental_config=_ExperimentalConfig(profiler_level=ProfilerLevel.Level0)) as prof:\n"
        "    assert prof.settings['schedule'] is plan and plan.arguments == (1, 2, 3, 0, 0, 0)\n"
        "    assert prof.settings['on_trace_ready'] is handler and prof.settings['with_stack'] == 'odd'\n"
        "assert analyse('x') == 'analysed by torch_npu'\n"
        "import torch_npu as real\n"
        "assert torch_npu is real\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_older_release_has_fewer_names() -> None:
    _, places, _ = _report(STANDIN_OLD="1")
    assert "HostSystem" not in places
    assert len(places) == 18


#: Stand-in there, variables, backend, said.
CHOICES = [
    (False, {}, "mock", ""),
    (True, {"STANDIN_NPU": "0"}, "mock", ""),
    (True, {"TB_NPU_BACKEND": "mock"}, "mock", ""),
    (True, {"TB_NPU_BACKEND": "ascend"}, "ascend", ""),
    (True, {"TB_NPU_BACKEND": "gpu"}, "ascend", "Invalid TB_NPU_BACKEND=gpu"),
    (True, {"STANDIN_BROKEN": "1"}, "mock", "torch_npu cannot be imported: libhccl.so"),
]


@pytest.mark.parametrize(("standin", "variables", "backend", "said"), CHOICES)
def test_choice(standin: bool, variables: dict[str, str], backend: str, said: str) -> None:
    found, places, lines = _report(standin, **variables)
    assert found == backend
    assert said in lines
    assert bool(said) == bool(lines)
    roots = {place.split(".")[0] for place in places.values()}
    assert roots == {"torch_npu" if backend == "ascend" else "tb_npu_plugin"}


@pytest.mark.parametrize(
    ("standin", "variables", "reason"),
    [
        (False, {}, "torch_npu is not installed"),
        (True, {"STANDIN_NPU": "0"}, "torch_npu finds no NPU"),
        (True, {"STANDIN_BROKEN": "1"}, "libhccl.so"),
    ],
)
def test_insisting_on_an_npu_that_is_not_there(standin: bool, variables: dict[str, str], reason: str) -> None:
    done = _run("import tb_npu_plugin.capture.pytorch", standin, TB_NPU_BACKEND="ascend", **variables)
    assert done.returncode != 0
    assert f"ImportError: TB_NPU_BACKEND=ascend, but {reason}" in done.stderr.replace(
        "torch_npu cannot be imported: ", ""
    )


def test_importing_the_api_needs_no_pytorch() -> None:
    done = _run(
        "import sys\nimport tb_npu_plugin.capture.pytorch\n"
        "print(sorted({'torch', 'rich', 'pandas', 'duckdb'} & set(sys.modules)))",
        standin=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
