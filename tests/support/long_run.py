"""Runs with many rows in each table and with many ranks, and many folders without a result."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from tests.support.fixtures import FIXTURES

#: Table -> columns that become distinct in each row.
NAMES = {
    "kernel_details.csv": "Name",
    "operator_details.csv": "Name",
    "operator_memory.csv": "Name",
    "op_statistic.csv": "OP Type",
    "api_statistic.csv": "API Name",
}
#: Name of the slices that a search finds.
NEEDLE = "needle"


def write_long_run(out: Path, rows: int, ranks: int, skipped: int) -> None:
    """The run "long" is a rank with `rows` further rows in each table and as many slices named NEEDLE; "long again" is its copy.
    The run "steps" is a rank with so many steps. The run "wide" has `ranks` ranks, each as short as the fixture."""
    first, second = sorted((FIXTURES / "results" / "two_ranks").glob("*_ascend_pt"))
    long = out / "long" / first.name
    shutil.copytree(first, long)
    output = long / "ASCEND_PROFILER_OUTPUT"
    for name, column in NAMES.items():
        _lengthen(output / name, column, rows)
    events = json.loads((output / "trace_view.json").read_text())
    model = next(event for event in events if event["ph"] == "X")
    start = float(max(float(event["ts"]) for event in events if event["ph"] == "X")) + 1000
    events += [{**model, "name": NEEDLE, "ts": f"{start + number:.3f}", "dur": 0.5} for number in range(rows)]
    (output / "trace_view.json").write_text(json.dumps(events))
    shutil.copytree(out / "long", out / "long again")
    shutil.copytree(first, out / "steps" / first.name)
    _lengthen(out / "steps" / first.name / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv", "Step", rows)
    for rank in range(ranks):
        folder = out / "wide" / second.name.replace("31786", str(40000 + rank))
        shutil.copytree(second, folder)
        (folder / "profiler_info_1.json").rename(folder / f"profiler_info_{rank}.json")
    for number in range(skipped):
        (out / f"unparsed_{number}_20250615070000123_ascend_pt").mkdir()


def _lengthen(path: Path, column: str, rows: int) -> None:
    """Repeat the last row with other names; a step is a number."""
    with path.open(newline="") as file:
        header, *found = list(csv.reader(file))
    place, last = header.index(column), found[-1]
    is_step = column == "Step"
    for number in range(rows):
        name = str(int(last[place]) + 1 + number) if is_step else f"{last[place]}_{number}"
        found.append([*last[:place], name, *last[place + 1 :]])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *found])
