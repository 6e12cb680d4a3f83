"""Write result folders of several ranks, as a run with `tensorboard_trace_handler` leaves them.

`make_ranks.py FOLDER RANKS [MEGABYTES]`: each rank with a trace of that size (default 2) and the tables of its kernels,
operators, steps and memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import make_kernels, make_trace
from benchmarks.make_trace import BASE_US, OPERATOR_NS

#: What one operator of make_trace takes in the file, bytes: to know how many there are.
OPERATOR_BYTES = 2330
STEPS = 4


def time_us(ns: int) -> str:
    return f"{BASE_US + ns // 1000}.{ns % 1000:03d}\t"


def write_csv(path: Path, header: str, rows: Iterable[str]) -> None:
    with path.open("w", newline="") as out:
        out.write(header + "\r\n")
        out.writelines(f"{row}\r\n" for row in rows)


def write_tables(output: Path, operators: int) -> None:
    """The small tables; figures follow from the operator's number."""
    make_kernels.write(output / "kernel_details.csv", operators)
    write_csv(
        output / "operator_details.csv",
        "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self Duration(us),"
        "Device Total Duration(us),Device Self Duration With AICore(us),Device Total Duration With AICore(us)",
        (
            f'aten::op_{n % 400},"{1 + n % 64},{1 + n % 511}","/opt/model/layer_{n // 40}.py({n % 900}): forward;\r\n'
            f'/opt/model/train.py(12): main",{n % 40}.5,40.25,{n % 70}.25,{n % 70}.25,{n % 50}.0,{n % 50}.0'
            for n in range(operators)
        ),
    )
    step = operators * OPERATOR_NS // STEPS / 1000
    write_csv(
        output / "step_trace_time.csv",
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing",
        (
            f"{n + 1},{step * 0.6},{step * 0.2},{step * 0.1},{step * 0.3},{step * 0.2},{step},0,{step * 0.2},{step / 9}"
            for n in range(STEPS)
        ),
    )
    write_csv(
        output / "memory_record.csv",
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type",
        (
            f"PTA,{time_us(n * OPERATOR_NS)},{900 + n % 200}.5,1452.0,{900 + n % 200}.5,897357296,NPU:0"
            for n in range(operators)
        ),
    )
    write_csv(
        output / "operator_memory.csv",
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
        "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type",
        (
            f"aten::op_{n % 400},{1 + n % 2048}.5,{time_us(n * OPERATOR_NS)},{time_us((n + 3) * OPERATOR_NS)},"
            f"{time_us((n + 3) * OPERATOR_NS)},180.000,180.000,900.5,1452.0,900.5,880.5,1452.0,880.5,897357296,NPU:0"
            for n in range(operators // 4)
        ),
    )


def write_rank(run: Path, rank: int, megabytes: float = 2.0, trace: Path | None = None) -> Path:
    """One rank's result folder below `run`; returns it. `trace`: a file to link to instead of writing one."""
    folder = run / f"node{rank // 8}_{4000 + rank}_20260101000000{rank % 1000:03d}_ascend_pt"
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    config = {
        "common_config": {
            "activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"],
            "record_shapes": True,
            "profile_memory": True,
            "with_stack": True,
        },
        "experimental_config": {"_profiler_level": "Level2", "_export_type": "text"},
    }
    info = {"config": config, "rank_id": rank, "torch_npu_version": "2.1.0", "cann_version": "8.0.RC1"}
    (folder / f"profiler_info_{rank}.json").write_text(json.dumps(info))
    if trace:
        (output / "trace_view.json").hardlink_to(trace)
    else:
        make_trace.write(output / "trace_view.json", megabytes, seed=rank)
    write_tables(output, max(1, int((output / "trace_view.json").stat().st_size / OPERATOR_BYTES)))
    return folder


if __name__ == "__main__":
    for one in range(int(sys.argv[2])):
        write_rank(Path(sys.argv[1]), one, float(sys.argv[3]) if len(sys.argv) > 3 else 2.0)
