"""Count the product's lines by room, and compare them with their budget, tools/weight.json.

A room is a folder of tb_npu_plugin or frontend/src; "." holds the files beside them. Lines of Python, C, C++, TypeScript and CSS count,
without generated files. Tests lie elsewhere.

`python tools/weight.py` prints the lines of each room; `--check` exits 1 when a room exceeds its budget; `--write` sets the budgets.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "tools" / "weight.json"
PRODUCT = ("tb_npu_plugin", "frontend/src")
SUFFIXES = {".py", ".c", ".h", ".cc", ".cpp", ".hpp", ".ts", ".tsx", ".css"}


def lines_by_room() -> dict[str, int]:
    """Room, for example "tb_npu_plugin/capture" -> lines of its files that git knows or does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *PRODUCT]
    found = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    out: Counter[str] = Counter()
    for path in map(PurePosixPath, filter(None, found)):
        if _counts(path):
            out[_room(path)] += (ROOT / path).read_bytes().count(b"\n")
    return dict(sorted(out.items()))


def _counts(path: PurePosixPath) -> bool:
    is_written = ".gen" not in path.suffixes and "static" not in path.parts
    return is_written and path.suffix in SUFFIXES and (ROOT / path).is_file()


def _room(path: PurePosixPath) -> str:
    product = next(one for one in PRODUCT if path.is_relative_to(one))
    inside = path.relative_to(product).parts
    return f"{product}/{inside[0] if len(inside) > 1 else '.'}"


def main() -> int:
    """Return the exit status."""
    lines = lines_by_room()
    if "--write" in sys.argv:
        BUDGET.write_text(json.dumps(lines, indent=2) + "\n", encoding="utf-8")
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    for room, count in lines.items():
        over = count - budget.get(room, 0)
        print(f"{count:7,}  {room}" + (f"  over its budget by {over:,}" if over > 0 else ""))
    print(f"{sum(lines.values()):7,}  in all")
    return int("--check" in sys.argv and any(count > budget.get(room, 0) for room, count in lines.items()))


if __name__ == "__main__":
    sys.exit(main())
