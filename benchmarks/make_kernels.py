"""Write a large synthetic kernel_details.csv: `make_kernels.py FILE ROWS [NAMES]`.

46 columns as at level 2; row n is kernel n of make_trace. Nothing is repeated: names, shapes and figures differ by row.
With NAMES, only so many names and shapes occur, as in a training step that repeats.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.make_trace import BASE_US, kernel

TYPES = ("MatMulV2", "Add", "LayerNormV3", "TransData", "Cast", "Mul", "SoftmaxV2", "BatchMatMulV2", "hcom_allReduce_")
CORES = ("AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "HCCL", "AI_CPU")
ROWS_AT_ONCE = 20_000
STEP_KERNELS = 100_000
HEADER = (
    "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
    "Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
    "Output Formats,Context ID,aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),"
    "aic_scalar_ratio,aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),"
    "aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,"
    "aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,"
    "aiv_icache_miss_rate,cube_utilization(%)"
)


def row(number: int, names: int = 0) -> str:
    """One line of the file, without its end. names: distinct names and shapes; 0: each row has its own."""
    one = kernel(number)
    named = number % names if names else number
    size = named * 40_503 % 1_000_003
    mixed = number * 40_503 % 1_000_003
    us, ns = divmod(one.start, 1000)
    kind = TYPES[mixed % len(TYPES)]
    core = CORES[mixed % 4] if kind[0] != "h" else "HCCL"
    share, part = mixed % 997 / 1000, mixed % 613 / 1000
    busy = one.dur * 0.9 / 1000
    shapes = f'"""{1 + size % 64},{1 + named % 8192};{1 + size % 4096},{1 + named % 511}"""'
    return (
        f"{1 + number // STEP_KERNELS},4294967295,{number % 65536},{one.stream},{kernel(named).name},{kind},dynamic,{core},"
        f"{BASE_US + us}.{ns:03d}\t,{one.dur / 1000},{mixed % 5000 / 1000},{1 + mixed % 40},0,NO,{shapes},"
        f'FLOAT16;FLOAT16,ND;ND,"""{1 + size % 64},{1 + named % 511}""",FLOAT16,ND,N/A,'
        f"{busy:.3f},{mixed * 3},{busy * share:.3f},{share},{busy * part:.3f},{part},{busy / 7:.3f},0.142,"
        f"{busy / 3:.3f},0.333,{busy / 9:.3f},0.111,{mixed % 90 / 1000},"
        f"{busy / 2:.3f},{mixed * 2},{busy / 5:.3f},{share},{busy / 6:.3f},{part},{busy / 8:.3f},0.125,"
        f"{busy / 10:.3f},0.1,{mixed % 70 / 1000},{mixed % 101}"
    )


def write(path: Path, rows: int, names: int = 0) -> None:
    """Write the header and `rows` rows with the vendor's line ends. names: see row."""
    numbers = iter(range(rows))
    with path.open("w", newline="") as out:
        out.write(HEADER + "\r\n")
        while some := list(islice(numbers, ROWS_AT_ONCE)):
            out.write("".join(f"{row(number, names)}\r\n" for number in some))


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
