"""Backend ascend against a stand-in for torch_npu. No NPU was there: what a real one does is not shown by these tests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.unit.capture.scripts import run_python

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
    return run_python(script, None, *([STANDIN] if standin else []), **variables)


def _report(standin: bool = True, **variables: str) -> tuple[str, dict[str, str], str]:
    done = _run(REPORT, standin, **variables)
    assert done.returncode == 0, done.stderr
    *said, last = done.stdout.splitlines()
    found = json.loads(last)
    return found["backend"], found["places"], "\n".join(said)


def test_every_name_is_torch_npus_own_object() -> None:
    done = _run(
        "import torch_npu, tb_npu_plugin.capture.pytorch as profiler\n"
        "import torch_npu.profiler.dynamic_profile, torch_npu.profiler.profiler\n"
        "elsewhere = {'analyse': torch_npu.profiler.profiler, 'mstx': torch_npu.npu}\n"
        "names = [name for name in profiler.__all__ if name not in ('BACKEND', 'torch_npu')]\n"
        "assert set(torch_npu.profiler.__all__) <= set(names)\n"
        "for name in names:\n"
        "    assert getattr(profiler, name) is getattr(elsewhere.get(name, torch_npu.profiler), name), name\n"
        "from tb_npu_plugin.capture.pytorch.profiler import analyse, profile\n"
        "from tb_npu_plugin.capture.pytorch.dynamic_profile import init\n"
        "assert analyse is torch_npu.profiler.profiler.analyse and profile is torch_npu.profiler.profile\n"
        "assert init is torch_npu.profiler.dynamic_profile.init\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_and_answers_pass_unchanged() -> None:
    done = _run(
        "from tb_npu_plugin.capture.pytorch import *\n"
        "from tb_npu_plugin.capture.pytorch import _ExperimentalConfig\n"
        "plan = schedule(1, 2, warmup=3)\n"
        "handler = tensorboard_trace_handler('./result')\n"
        "config = _ExperimentalConfig('Level2', AiCMetrics.Memory, sys_io='odd')\n"
        "assert list(config.settings.values())[:2] == ['Level2', 'ACL_AICORE_MEMORY_BANDWIDTH']\n"
        "assert config.settings['sys_io'] == 'odd'\n"
        "with profile(schedule=plan, on_trace_ready=handler, with_stack='odd', experimental_config=config) as prof:\n"
        "    assert prof.settings['schedule'] is plan and plan.arguments == (1, 2, 3, 0, 0, 0)\n"
        "    assert prof.settings['on_trace_ready'] is handler and prof.settings['with_stack'] == 'odd'\n"
        "    assert prof.settings['experimental_config'] is config\n"
        "    prof.step()\n"
        "    prof.add_metadata('a', 5)\n"
        "prof.export_stacks('x.txt', metric='odd')\n"
        "assert prof.calls == [('step',), ('add_metadata', 'a', 5), ('export_stacks', 'x.txt', 'odd')]\n"
        "assert prof.get_trace_id() == 'id of torch_npu'\n"
        "assert analyse('x', 3, 'db') == ('analysed by torch_npu', 'x', 3, 'db')\n"
        "import torch_npu as real\n"
        "assert torch_npu is real\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_attributes_and_exceptions_pass() -> None:
    """No NPU was there: the stand-in stands for it."""
    done = _run(
        "import tb_npu_plugin.capture.pytorch as ours, torch_npu.profiler as real\n"
        "real.added_later = object()\n"
        "assert ours.added_later is real.added_later\n"
        "for name in ('nothing', '__path__'):\n"
        "    try: getattr(ours, name)\n"
        "    except AttributeError as problem: assert name in str(problem)\n"
        "    else: raise AssertionError(name)\n"
        "prof = ours.profile()\n"
        "assert isinstance(prof, real.profile) and type(ours.ProfilerActivity.NPU) is real.ProfilerActivity\n"
        "prof.mine = 5\n"
        "assert prof.mine == 5\n"
        "def fail(self): raise KeyError('of torch_npu')\n"
        "real.profile.step = fail\n"
        "for call in (prof.step, lambda: ours.profile(5), lambda: ours.profile(unknown=1), lambda: prof.unknown):\n"
        "    try: call()\n"
        "    except (KeyError, TypeError, AttributeError): pass\n"
        "    else: raise AssertionError(call)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


#: Compares the twin with the stand-in: parameters of functions, classes and methods, values of enumerations.
TWINS = """
import enum, inspect, json
import tb_npu_plugin.capture.pytorch as ours
assert ours.BACKEND == "mock"
import torch_npu, torch_npu.npu, torch_npu.profiler.dynamic_profile, torch_npu.profiler.profiler
checked, wrong = [], {}

def parameters(call):
    found = inspect.signature(call).parameters.values()
    return [(one.name, one.kind.name, None if one.default is one.empty else repr(one.default)) for one in found]

def compare(name, own, real):
    checked.append(name)
    if inspect.isclass(real) and not issubclass(real, enum.Enum):
        for part in dir(real):
            special = part in ("__init__", "__call__", "__enter__", "__exit__") and part in vars(real)
            if special or not part.startswith("_"):
                compare(f"{name}.{part}", getattr(own, part, None), getattr(real, part))
    elif isinstance(real, type):
        if [(one.name, one.value) for one in own] != [(one.name, one.value) for one in real]:
            wrong[name] = [str(list(own)), str(list(real))]
    elif callable(real):
        if own is None or name.endswith("__exit__"):
            own is not None or wrong.update({name: "missing"})
        elif parameters(own) != parameters(real):
            wrong[name] = [parameters(own), parameters(real)]
    elif own != real:
        wrong[name] = [own, real]

for name in torch_npu.profiler.__all__ + ["_KinetoProfile", "_NonIntrusiveProfile"]:
    compare(name, getattr(ours, name), getattr(torch_npu.profiler, name))
compare("analyse", ours.profiler.analyse, torch_npu.profiler.profiler.analyse)
for name in ("init", "step", "start", "set_state"):
    compare(name, getattr(ours.dynamic_profile, name), getattr(torch_npu.profiler.dynamic_profile, name))
compare("mstx", ours.torch_npu.npu.mstx, torch_npu.npu.mstx)
compare("current_stream", ours.torch_npu.npu.current_stream, torch_npu.npu.current_stream)
print(json.dumps([checked, wrong]))
"""


def test_the_twin_has_the_signatures_of_the_stand_in() -> None:
    """The stand-in is written from docs/facts/torch_npu_api.md and the vendor's documentation."""
    done = _run(TWINS, TB_NPU_BACKEND="mock")
    assert done.returncode == 0, done.stderr
    checked, wrong = json.loads(done.stdout)
    own, real = wrong.pop("tensorboard_trace_handler")
    assert own == [*real, ["use_gzip", "KEYWORD_ONLY", "False"]], "of the vendor's guide, keyword only"
    assert wrong == {}
    assert len(checked) > 80
    assert {"profile.__init__", "_KinetoProfile.export_stacks", "mstx.annotate.__init__", "analyse"} <= set(checked)


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
    (
        True,
        {"STANDIN_BROKEN": "1"},
        "mock",
        "torch_npu cannot be imported: libhccl.so: cannot open shared object file. The mock device is used instead.",
    ),
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
        "import sys\nimport tb_npu_plugin.capture.pytorch as own\n"
        "from tb_npu_plugin.capture.pytorch.profiler import analyse, profile, tensorboard_trace_handler\n"
        "from tb_npu_plugin.capture.pytorch.dynamic_profile import init\n"
        "import tb_npu_plugin.capture.pytorch.dynamic_profile as dp\n"
        "assert (analyse, profile, dp.init) == (own.analyse, own.profile, init)\n"
        "assert own.torch_npu.profiler.profiler.analyse is analyse\n"
        "print(sorted({'torch', 'rich', 'pandas', 'duckdb'} & set(sys.modules)))",
        standin=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


#: A process in which PyTorch is not installed.
NO_TORCH = """
import os, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from tb_npu_plugin.capture.pytorch import *
"""


def test_without_pytorch_a_profile_says_what_is_missing_and_the_script_goes_on(tmp_path: Path) -> None:
    done = _run(
        NO_TORCH
        + "from tb_npu_plugin.capture.pytorch import _ExperimentalConfig\n"
        + f"os.chdir({str(tmp_path)!r})\n"
        + "supported_activities(), _ExperimentalConfig('Level1'), mstx.mark('a'), dynamic_profile.init('dynamic')\n"
        "with profile(schedule=schedule(0, 1, 1, 1), on_trace_ready=tensorboard_trace_handler('result')) as prof:\n"
        "    for _ in range(3): prof.step()\n"
        "prof.export_chrome_trace('trace.json')\n"
        "print(prof.step_num, os.listdir('result'))\n",
        standin=False,
        TB_NPU_BACKEND="mock",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "3 []"
    [error] = [line for line in done.stdout.splitlines() if "[ERROR]" in line]
    assert "PyTorch is not installed" in error
    assert "docs/capture.md" in error
    assert error.endswith("The training goes on.")
