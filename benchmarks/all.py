"""Run every benchmark and write benchmarks/RESULTS.md; exits with 1 when a bar falls short or a script fails.

`make bench`, or `make bench BENCH_ARGS=--quick` to see in minutes whether the scripts work (RESULTS.md stays as it is).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import DATA_VARIABLE, LINES_VARIABLE, ROOT, machine, spread

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
#: Script -> heading. In this order; one that falls short or fails does not keep the next from running.
SCRIPTS = {
    "scan": "Scanner",
    "timeline": "Timeline: start to usable, reopening, viewport",
    "scale": "Trace view of 20 M and 100 M slices, and of 64 ranks",
    "frames": "Frames and memory of the Trace view",
    "first_picture": "First picture of the Trace view",
    "matches": "Search with many hits",
    "kernels_csv": "Tables of 200,000 kernels, beside pandas",
    "tables": "Tables of 5 M kernels",
    "ranks": "Many ranks",
    "discovery": "List of runs",
    "capture": "Recording with the mock device, analyse",
    "device": "The simulated NPU beside the CPU",
    "mindspore": "Recording MindSpore with the simulated NPU",
    "diagnosis": "tb-npu diagnose",
    "mock": "Writing simulated ranks: tb-npu mock",
    "peer": "Beside the plugin that this one replaces",
}
LIMIT_S = 3600.0
Line = Mapping[str, Any]


def main() -> int:
    """Run all, or those of `--only`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; bars that need large ones are not judged")
    parser.add_argument("--only", default="", help=f"some of {','.join(SCRIPTS)}; RESULTS.md is not written")
    parser.add_argument("--data", type=Path, help="keep the made data in this folder for the next time")
    parser.add_argument("--output", type=Path, help="where the results go instead of RESULTS.md")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(SCRIPTS)
    if unknown := set(chosen) - set(SCRIPTS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    output = options.output or (None if options.quick or options.only else RESULTS)
    with tempfile.TemporaryDirectory(prefix="npu-bench-") as temporary:
        data = options.data or Path(temporary)
        sections = [(name, *run(name, options.quick, data, Path(temporary))) for name in chosen]
    if output:
        output.write_text(written(sections, options.quick))
        print(f"\nwritten: {output}")
    short = [bar["name"] for _, lines, _ in sections for bar in lines if bar.get("verdict") == "falls short"]
    broken = [name for name, lines, failure in sections if failure]
    print("\n".join([*(f"FALLS SHORT: {name}" for name in short), *(f"FAILED: {name}.py" for name in broken)]))
    return int(bool(short or broken))


def run(name: str, quick: bool, data: Path, scratch: Path) -> tuple[list[Line], str]:
    """The lines that a script handed over, and why it did not come to its end ("" when it did)."""
    print(f"\n== {SCRIPTS[name]} ({name}.py)", flush=True)
    lines, start = scratch / f"{name}.jsonl", time.monotonic()
    environment = {**os.environ, LINES_VARIABLE: str(lines), DATA_VARIABLE: str(data)}
    command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if quick else [])]
    try:
        status = subprocess.run(command, env=environment, cwd=ROOT, timeout=LIMIT_S).returncode
    except subprocess.TimeoutExpired:
        status = -1
    told = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    print(f"({time.monotonic() - start:.0f} s)", flush=True)
    if status == -1:
        return told, f"gave up after {LIMIT_S:.0f} s"
    short = any(line.get("verdict") == "falls short" for line in told)
    return told, "" if status == int(short) else f"ended with status {status}; see what it printed"


def written(sections: Sequence[tuple[str, list[Line], str]], quick: bool) -> str:
    """The whole of RESULTS.md."""
    bars = [line for _, lines, _ in sections for line in lines if line["kind"] == "bar"]
    counts = {verdict: sum(bar["verdict"] == verdict for bar in bars) for verdict in ("ok", "falls short")}
    about = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": git("rev-parse", "--short=12", "HEAD") + (" and changes" if git("status", "--porcelain") else ""),
        **machine(),
    }
    out = [
        "# Results of the benchmarks",
        "",
        "Written by `make bench`; what each script does is in its first lines.",
        "",
    ]
    if quick:
        out += ["**A quick run on small sizes: these figures say little.**", ""]
    out += [*(f"- {key}: {value}" for key, value in about.items()), ""]
    out += [f"Of {sum(counts.values())} bars {counts['ok']} hold and {counts['falls short']} fall short.", ""]
    for name, lines, failure in sections:
        out += [f"## {SCRIPTS[name]}", "", f"`benchmarks/{name}.py`", ""]
        out += [f"**{failure}**", ""] if failure else []
        out += section(lines)
    return "\n".join(out).rstrip() + "\n"


def section(lines: Sequence[Line]) -> list[str]:
    """Bars first, in one table; then the tables and remarks in the order in which they came."""
    bars = [line for line in lines if line["kind"] == "bar"]
    out = []
    if bars:
        header = ["bar", "measured", "at most", "", "baseline, rounds", "on"]
        out += [*table(header, [cells(bar) for bar in bars]), ""]
    for line in lines:
        if line["kind"] == "table":
            out += [f"{line['title']}:", "", *table(line["header"], line["rows"]), ""]
        elif line["kind"] == "remark":
            out += [line["text"], ""]
    return out


def cells(bar: Line) -> list[str]:
    """A bar as a row."""
    verdict = {"ok": "ok", "falls short": "**falls short**"}.get(bar["verdict"], bar["verdict"])
    rounds = "; ".join(f"{name}: {spread(values)}" for name, values in bar["rounds"].items())
    baseline = bar["baseline"] if bar["baseline"] not in bar["rounds"] else ""
    limit = "" if bar["limit"] is None else f"{bar['limit']:g} {bar['unit']}"
    told = ". ".join(filter(None, [baseline, rounds]))
    return [bar["name"], f"{bar['measured']:.4g} {bar['unit']}", limit, verdict, told, bar["data"]]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *map(escaped, rows)]]


def escaped(row: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|").replace("\n", " ") for cell in row]


def git(*arguments: str) -> str:
    """What git says, "" where there is none."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
