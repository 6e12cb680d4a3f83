"""Fuzz the C code under AddressSanitizer and UndefinedBehaviourSanitizer: `run.py [SECONDS]` (default 60), shared by the
targets.

Needs clang with libFuzzer; without it nothing is fuzzed, which is said, and that is no failure. Seeds are cuts of the
fixtures' traces and tables, and what was found once (regressions/). Exits with 1 when something was found; what did it is left in
tests/fuzz/found/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCAN = ROOT / "tb_npu_plugin" / "scan" / "native"
ROWS = ROOT / "tb_npu_plugin" / "readers" / "native"
PACKING = ROOT / "tb_npu_plugin" / "analysis" / "native"
CUT = 2000
#: Seconds after which an input hangs: each takes milliseconds, but a machine may stand still for a while.
HANGS = 120
#: CI tries the same inputs each time, as tests/conftest.py does; 0: others.
SEED = int("CI" in os.environ)
SANITIZERS = "-fsanitize=fuzzer,address,undefined"


@dataclass(frozen=True)
class Target:
    """A program of this folder. share: of the time. opening: a seed begins with the first brace from these bytes on.
    scan: sources of the scanner's besides."""

    name: str
    folder: Path
    sources: tuple[str, ...]
    share: float
    opening: bytes = b"{"
    scan: tuple[str, ...] = ()


TARGETS = (
    Target("walker_fuzz", SCAN, ("walker", "blocks", "columns", "json", "decimal", "interner"), 0.4),
    Target("args_fuzz", SCAN, ("args", "json"), 0.2, b'"args": '),
    Target("rows_fuzz", ROWS, ("rows",), 0.2, scan=("decimal", "interner")),
    Target("packing_fuzz", PACKING, ("packing",), 0.2),
)


def can_build(folder: Path) -> bool:
    """Whether clang is here, and libFuzzer with it."""
    if shutil.which("clang") is None:
        return False
    source = folder / "nothing.c"
    source.write_text("int LLVMFuzzerTestOneInput(const char *data, long size) { return data && size < 0; }\n")
    command = ["clang", SANITIZERS, str(source), "-o", str(folder / "nothing")]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def build(target: Target, program: Path) -> None:
    sources = [str(target.folder / f"{name}.c") for name in target.sources]
    sources += [str(SCAN / f"{name}.c") for name in target.scan]
    flags = [
        "-std=c11",
        "-g",
        "-O1",
        "-Wall",
        "-Wextra",
        "-ffp-contract=off",
        SANITIZERS,
        "-fno-sanitize-recover=all",
        f"-I{target.folder}",
        f"-I{SCAN}",
    ]
    subprocess.run(["clang", *flags, str(HERE / f"{target.name}.c"), *sources, "-lm", "-o", str(program)], check=True)


def write_seeds(folder: Path, opening: bytes) -> None:
    shutil.copytree(HERE / "regressions", folder)
    for number, path in enumerate(sorted((ROOT / "fixtures").rglob("trace_view.json"))):
        data = path.read_bytes()
        for cut in (0, len(data) // 2, max(0, len(data) - CUT)):
            piece = data[cut : cut + CUT]
            start = max(piece.find(b"{", max(piece.find(opening), 0)), 0)
            for mode in range(3):
                (folder / f"{number}-{cut}-{mode}").write_bytes(bytes([mode]) + piece[start:])
    for number, path in enumerate(sorted((ROOT / "fixtures").rglob("*.csv"))):
        (folder / f"csv-{number}").write_bytes(path.read_bytes()[:CUT])
    (folder / "csv-rows").write_bytes(b'\x21k,1.5,"a,""b""\n",2\t\r\n"\xe7\xae\x97",N/A,,-0.25\n')


def fuzz(target: Target, folder: Path, seconds: int) -> bool:
    """Whether nothing was found."""
    folder.mkdir()
    found = HERE / "found"
    found.mkdir(exist_ok=True)
    program, seeds, corpus = (folder / name for name in ("program", "seeds", "corpus"))
    build(target, program)
    write_seeds(seeds, target.opening)
    corpus.mkdir()
    print(f"{target.name}: {seconds} s", flush=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={2 * CUT}",
        f"-timeout={HANGS}",
        f"-dict={HERE / 'trace.dict'}",
        f"-artifact_prefix={found}/{target.name}-",
        "-print_final_stats=1",
        "-verbosity=1",
        f"-seed={SEED}",
    ]
    return subprocess.run([program, corpus, seeds, *options]).returncode == 0


def main() -> int:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not can_build(folder):
            print("SKIPPED: no clang with libFuzzer here, so nothing was fuzzed")
            return 0
        good = [fuzz(target, folder / target.name, max(1, round(seconds * target.share))) for target in TARGETS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
