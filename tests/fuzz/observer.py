"""Run the observer of shapes (capture/mock/native/observer.cpp) under AddressSanitizer and UndefinedBehaviourSanitizer.

It reads nothing, so there is nothing to feed it: it is started and stopped many times while threads run operators, come
and go, and what it tells is read. Needs g++ and PyTorch; without them nothing is run, which is said, and that is
no failure. Exits with 1 when something was found.
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

STARTS, THREADS = 300, 6
#: Seconds after which it hangs; it takes 20.
LIMIT = 600
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WORK = """
import json, os, random, sys, threading, time
from pathlib import Path
import torch
from tb_npu_plugin.capture.mock import observer

native, starts, count = observer.load(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
is_over = threading.Event()

def run(number):
    some = random.Random(number)
    while not is_over.is_set():
        size = some.randrange(1, 9)
        ones = torch.ones(size, 2)
        torch.cat([ones, ones.half().float()]).sum(dim=[0, 1]).item()
        torch._foreach_add([ones, torch.zeros(5)], 1.0)
        with torch.profiler.record_function("a \\"name\\"\\n"):
            threads = threading.Thread(target=torch.ones(size).neg)  # of few operators: it may end while it is observed
        threads.start()
        threads.join()

threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
calls = 0
try:
    for number in range(starts):
        native.start()
        torch.ones(3).exp()
        if number % 10 == 0:
            continue  # started again, never stopped
        found = json.loads(native.stop())
        calls += sum(len(order) for _, _, order in found)
        assert all(number < len(texts) for _, texts, order in found for number in order)
        assert any(text[0] == "aten::exp" for _, texts, _ in found for text in texts)
finally:
    is_over.set()
    for thread in threads:
        thread.join()
native.start()  # with threads the child could wait for ever: their locks of the sanitizer's are held in it
torch.ones(3).exp()
child = os.fork()
if not child:
    os._exit(native.stop() != b"[]")
assert os.waitpid(child, 0)[1] == 0 and b"aten::exp" in native.stop()
print(f"{starts} starts beside {count} threads, {calls} operators")
"""


def missing() -> str:
    """What there is not; empty: all is there."""
    if importlib.util.find_spec("torch") is None:
        return f"no PyTorch in {sys.executable}"
    if shutil.which("g++") is None:
        return "no g++"
    return "" if (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file() else "no Python.h"


def build(path: Path) -> bool:
    """Whether the sanitizers are here, and linked."""
    import torch
    from tb_npu_plugin.capture.mock import compiling, observer

    flags = [compiling.STANDARDS[0], *compiling.compiler_flags(torch), "-O1", "-g", *SANITIZERS, "-fPIC", "-shared"]
    headers = f"-I{sysconfig.get_paths()['include']}"
    command = ["g++", *flags, headers, str(observer.SOURCE), "-o", str(path), *compiling.linker_flags(torch)]
    return subprocess.run(command).returncode == 0


def runtimes() -> str:
    """The libraries of the sanitizers, which must be there before all others."""
    names = ("libasan.so", "libubsan.so")
    asked = (subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True) for name in names)
    return ":".join(done.stdout.strip() for done in asked)


def main() -> int:
    """1 when something was found."""
    reason = missing()
    if reason:
        print(f"SKIPPED: {reason}, so the observer of shapes was not run under the sanitizers")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "observer.so"
        if not build(path):
            print("SKIPPED: g++ does not build the observer of shapes with sanitizers here")
            return 0
        environment = {
            **os.environ,
            "LD_PRELOAD": runtimes(),
            "PYTHONPATH": str(ROOT),
            "PYTHONMALLOC": "malloc",  # so that blocks of Python are watched, too
            "ASAN_OPTIONS": "detect_leaks=0",  # Python and PyTorch keep what they need to the end
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        if subprocess.run([sys.executable, "-c", "import torch"], env=environment, capture_output=True).returncode:
            print("SKIPPED: PyTorch does not load beside the sanitizers here")
            return 0
        command = [sys.executable, "-c", WORK, str(path), str(STARTS), str(THREADS)]
        return int(subprocess.run(command, env=environment, timeout=LIMIT).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
