"""Run the simulated NPU (capture/device/native) under AddressSanitizer and UndefinedBehaviourSanitizer.

Built with them it takes the place of the ordinary extension in a cache of its own; then its tests run, and threads that
compute while recordings begin and end. Needs g++ and PyTorch; without them nothing is run, which is said, and that is no
failure. Exits with 1 when something was found.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: Seconds after which it hangs; it takes 300, most of them for the compiler.
LIMIT = 1500
INSIDE = ["-m", "pytest", "-p", "no:cacheprovider", str(ROOT / "tests" / "unit" / "capture" / "device" / "inside")]
WORK = """
import random, threading, torch
from tb_npu_plugin.capture.device import records
from tests.unit.capture.device.inside import names

torch.set_num_threads(1)
is_over = threading.Event()

def run(number):
    some = random.Random(number)
    while not is_over.is_set():
        x = torch.ones(some.randrange(1, 9), 2, device="npu", requires_grad=True)
        torch.cat([x, x.half().float()]).sum(dim=[0, 1]).backward()
        torch._foreach_add([x.detach(), torch.zeros(5, device="npu")], 1.0)
        x.detach().resize_(20, 3).t_().cpu()

threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(4)]
for thread in threads:
    thread.start()
count = 0
for number in range(100):
    records.start(1 << 22)
    torch.ones(3, device="npu").exp()
    recording = records._recording(*records.extension().take_records()) if number % 3 else records.stop()
    assert "aten::exp" in names(recording)
    count += len(recording.records)
is_over.set()
for thread in threads:
    thread.join()
print(f"100 recordings beside 4 threads, {count} records")
"""


def missing() -> str:
    """What there is not; empty: all is there."""
    if importlib.util.find_spec("torch") is None:
        return f"no PyTorch in {sys.executable}"
    if shutil.which("g++") is None:
        return "no g++"
    return "" if (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file() else "no Python.h"


def build(cache: Path) -> bool:
    """Whether the sanitizers are here, and linked."""
    import torch

    from tb_npu_plugin.capture.device import build as own

    folder = cache / "device"
    folder.mkdir(mode=0o700, parents=True)
    flags = [*own.compiler_flags(torch, ["g++"]), "-g", *SANITIZERS, "-fno-sanitize=vptr"]
    command = ["g++", *flags, str(own.NATIVE / "module.cpp"), "-o", str(folder / f"{own._key(torch)}.so")]
    return subprocess.run([*command, *own.linker_flags(torch)]).returncode == 0


def runtimes() -> str:
    """The libraries of the sanitizers, which must be there before all others."""
    names = ("libasan.so", "libubsan.so")
    asked = (subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True) for name in names)
    return ":".join(done.stdout.strip() for done in asked)


def main() -> int:
    """1 when something was found."""
    reason = missing()
    if reason:
        print(f"SKIPPED: {reason}, so the simulated NPU was not run under the sanitizers")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if not build(Path(folder)):
            print("SKIPPED: g++ does not build the simulated NPU with sanitizers here")
            return 0
        environment = {
            **os.environ,
            "TB_NPU_CACHE_DIR": folder,
            "LD_PRELOAD": runtimes(),
            "PYTHONPATH": str(ROOT),
            "PYTHONMALLOC": "malloc",  # so that blocks of Python are watched, too
            "ASAN_OPTIONS": "detect_leaks=0",  # Python and PyTorch keep what they need to the end
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        if subprocess.run([sys.executable, "-c", "import torch"], env=environment, capture_output=True).returncode:
            print("SKIPPED: PyTorch does not load beside the sanitizers here")
            return 0
        run = [sys.executable, "-m", "tb_npu_plugin.capture.run"]
        done = [subprocess.run([*run, *what], env=environment, timeout=LIMIT) for what in (["-c", WORK], INSIDE)]
        return int(any(each.returncode for each in done))


if __name__ == "__main__":
    sys.exit(main())
