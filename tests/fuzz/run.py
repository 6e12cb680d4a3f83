"""Fuzz the native scanner under AddressSanitizer and UndefinedBehaviourSanitizer: `run.py [SECONDS]` (default 60).

Needs clang with libFuzzer. Seeds are cuts of the fixtures' traces. Exits with the fuzzer's status; what made it fail
is left in tests/fuzz/found/.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NATIVE = ROOT / "tb_npu_plugin" / "scan" / "native"
CUT = 2000


def build(target: Path) -> None:
    sources = [str(path) for path in sorted(NATIVE.glob("*.c")) if path.name != "module.c"]
    flags = ["-std=c11", "-g", "-O1", "-ffp-contract=off", "-fsanitize=fuzzer,address,undefined",
             "-fno-sanitize-recover=all", f"-I{NATIVE}"]  # fmt: skip
    subprocess.run(["clang", *flags, str(HERE / "walker_fuzz.c"), *sources, "-lm", "-o", str(target)], check=True)


def write_seeds(folder: Path) -> None:
    folder.mkdir()
    for number, path in enumerate(sorted((ROOT / "fixtures").rglob("trace_view.json"))):
        data = path.read_bytes()
        for cut in (0, len(data) // 2, max(0, len(data) - CUT)):
            piece = data[cut : cut + CUT]
            start = max(piece.find(b"{"), 0)
            for mode in range(3):
                (folder / f"{number}-{cut}-{mode}").write_bytes(bytes([mode]) + piece[start:])


def main() -> int:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    if shutil.which("clang") is None:
        print("no clang here: nothing was fuzzed", file=sys.stderr)
        return 2
    found = HERE / "found"
    found.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program, seeds, corpus = (Path(folder) / name for name in ("walker_fuzz", "seeds", "corpus"))
        build(program)
        write_seeds(seeds)
        corpus.mkdir()
        return subprocess.run(
            [program, corpus, seeds, f"-max_total_time={seconds}", f"-max_len={2 * CUT}", "-timeout=10",
             f"-dict={HERE / 'trace.dict'}", f"-artifact_prefix={found}/", "-print_final_stats=1", "-verbosity=1"],
        ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
