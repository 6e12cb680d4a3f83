"""Backend ascend against a stand-in for torch_npu. No NPU was there: what a real one does is not shown by these tests."""

from __future__ import annotations

import inspect
import json
import subprocess
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture import pytorch
from tb_npu_plugin.capture.api import mstx
from tb_npu_plugin.capture.api.parsing import DEFAULT_PROCESSES
from tests.unit.capture.scripts import run_python

HERE = Path(__file__).parent
STANDIN = HERE / "ascend_standin"

#: Says which module each exported name comes from.
REPORT = """
import json
import tb_npu_plugin.capture.pytorch as profiler
places = {name: getattr(getattr(profiler, name), "__module__", getattr(getattr(profiler, name), "__name__", ""))
          for name in profiler.__all__ if name not in ("BACKEND", "torch_npu")}
print(json.dumps([profiler.BACKEND, places]))
"""


def _run(script: str, standin: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_python(script, None, *([STANDIN] if standin else []), **variables)


def _report(standin: bool = True, **variables: str) -> tuple[str, dict[str, str], str]:
    """The backend, the module of each name, and what was printed."""
    done = _run(REPORT, standin, **variables)
    assert done.returncode == 0, done.stderr
    *said, last = done.stdout.splitlines()
    return (*json.loads(last), "\n".join(said))


def _lines(name: str, found: Any) -> Iterator[str]:
    """The parameters of a function, of a class and its own methods, or the values of an enumeration."""
    public = {part: value for part, value in vars(found).items() if not part.startswith("_")}
    if isinstance(found, type) and issubclass(found, Enum):
        yield f"{name}: {' '.join(f'{one.name}={one.value}' for one in found)}"
    elif any(isinstance(value, str) for value in public.values()):
        yield f"{name}: {' '.join(f'{part}={value}' for part, value in public.items())}"
    else:
        if inspect.isroutine(found) or "__init__" in vars(found):
            signature = inspect.signature(found)
            bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
            yield f"{name}{signature.replace(parameters=bare, return_annotation=signature.empty)}"
        for part in public:
            if callable(getattr(found, part)) and part != "__call__":
                yield from _lines(f"{name}.{part}", getattr(found, part))


def test_names_signatures_and_values_are_those_of_torch_npu() -> None:
    """The text is written from docs/facts/torch_npu_api.md and the vendor's documentation; use_gzip is of the vendor's guide."""
    places = {name: getattr(pytorch, name) for name in pytorch.__all__ if name not in ("BACKEND", "torch_npu")}
    dynamic = places.pop("dynamic_profile")
    places |= {f"dynamic_profile.{name}": getattr(dynamic, name) for name in dynamic.__all__}
    places["torch_npu.npu.current_stream"] = mstx.current_stream
    found = [line for name, place in places.items() for line in _lines(name, place)]
    text = (HERE / "api_of_torch_npu.txt").read_text().replace("HALF_THE_CORES", str(DEFAULT_PROCESSES))
    assert sorted(found) == text.splitlines()
    assert issubclass(pytorch.profile, pytorch._KinetoProfile)


def test_every_name_is_torch_npus_own_object() -> None:
    done = _run(
        "import torch_npu, tb_npu_plugin.capture.pytorch as profiler\n"
        "import torch_npu.profiler.dynamic_profile, torch_npu.profiler.profiler\n"
        "assert profiler.torch_npu is torch_npu\n"
        "elsewhere = {'analyse': torch_npu.profiler.profiler, 'mstx': torch_npu.npu}\n"
        "names = [name for name in profiler.__all__ if name not in ('BACKEND', 'torch_npu')]\n"
        "for name in [*names, 'added_later']:\n"
        "    assert getattr(profiler, name) is getattr(elsewhere.get(name, torch_npu.profiler), name), name\n"
        "for name in ('missing', '__path__'):\n"
        "    try: getattr(profiler, name)\n"
        "    except AttributeError as problem: assert name in str(problem)\n"
        "    else: raise AssertionError(name)\n"
        "from tb_npu_plugin.capture.pytorch.profiler import analyse\n"
        "from tb_npu_plugin.capture.pytorch.dynamic_profile import init\n"
        "assert analyse is torch_npu.profiler.profiler.analyse\n"
        "assert init is torch_npu.profiler.dynamic_profile.init\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


BROKEN = "torch_npu cannot be imported: libhccl.so: cannot open shared object file"
#: Stand-in there, variables, backend, said.
CHOICES = [
    (False, {}, "mock", ""),
    (True, {"STANDIN_NPU": "0"}, "mock", ""),
    (True, {"TB_NPU_BACKEND": "mock"}, "mock", ""),
    (True, {"TB_NPU_BACKEND": "ascend"}, "ascend", ""),
    (True, {"STANDIN_OLD": "1"}, "ascend", ""),
    (True, {"TB_NPU_BACKEND": "gpu"}, "ascend", "Invalid TB_NPU_BACKEND=gpu"),
    (True, {"STANDIN_BROKEN": "1"}, "mock", f"{BROKEN}. The mock device is used instead."),
]


@pytest.mark.parametrize(("standin", "variables", "backend", "said"), CHOICES)
def test_choice(standin: bool, variables: dict[str, str], backend: str, said: str) -> None:
    found, places, lines = _report(standin, **variables)
    assert found == backend
    assert said in lines
    assert bool(said) == bool(lines)
    assert ("HostSystem" in places) == ("STANDIN_OLD" not in variables)  # an older release has fewer names
    roots = {place.split(".")[0] for place in places.values()}
    assert roots == {"torch_npu" if backend == "ascend" else "tb_npu_plugin"}


@pytest.mark.parametrize(
    ("standin", "variables", "reason"),
    [
        (False, {}, "torch_npu is not installed"),
        (True, {"STANDIN_NPU": "0"}, "torch_npu finds no NPU"),
        (True, {"STANDIN_BROKEN": "1"}, BROKEN),
    ],
)
def test_insisting_on_an_npu_that_is_not_there(standin: bool, variables: dict[str, str], reason: str) -> None:
    done = _run("import tb_npu_plugin.capture.pytorch", standin, TB_NPU_BACKEND="ascend", **variables)
    assert done.returncode != 0
    assert f"ImportError: TB_NPU_BACKEND=ascend, but {reason}" in done.stderr


#: A process in which PyTorch is not installed.
NO_TORCH = """
import os, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import tb_npu_plugin.capture.pytorch as own
from tb_npu_plugin.capture.pytorch import *
from tb_npu_plugin.capture.pytorch.profiler import analyse
import tb_npu_plugin.capture.pytorch.dynamic_profile as dp
assert analyse is own.analyse is own.torch_npu.profiler.profiler.analyse and dp.init is dynamic_profile.init
print(sorted({'rich', 'pandas', 'duckdb'} & set(sys.modules)))
_ExperimentalConfig('Level1'), mstx.mark('a'), dynamic_profile.init('dynamic')
with profile(schedule=schedule(0, 1, 1, 1), on_trace_ready=tensorboard_trace_handler('result')) as prof:
    for _ in range(3): prof.step()
prof.export_chrome_trace('trace.json')
print(prof.step_num, os.listdir('result'))
"""


def test_without_pytorch_imports_work_and_a_profile_says_what_is_missing(tmp_path: Path) -> None:
    done = run_python(NO_TORCH, tmp_path, TB_NPU_BACKEND="mock")
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines, last = done.stdout.splitlines()
    assert (first, last) == ("[]", "3 []")
    [error] = [line for line in lines if "[ERROR]" in line]
    assert "PyTorch is not installed" in error
    assert "docs/capture.md" in error
    assert error.endswith("The training goes on.")
