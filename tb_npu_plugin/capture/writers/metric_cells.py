"""What the counters of one kernel show, from what it does. Source: docs/facts/ascend_pt.md, Metric columns."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tb_npu_plugin.capture.simulation.records import Kernel, Process
from tb_npu_plugin.schema import metric_sets as names

#: ("fixed", value), ("time", share of the core time), ("rate", bytes), ("cycles", cycles per ns),
#: ("use", percent where the core time is the whole duration).
Cell = tuple[str, float]
#: Number of launches of a kernel with different counters: on a real 910B no two are equal.
VARIANTS = 8
#: ns of a long launch before and behind the time of its cores, on the mean and by how much it differs; ns of one that
#: has half of it. As in the public sample of a real 910B: 0.5 us of 1.5, 2.5 of 15, 4 of 300; matrix units 3 of 200.
_AROUND, _AROUND_CUBE, _DIFFERS, _HALF = 4_200, 3_200, 0.8, 10_000
#: By how much the share of a unit differs from launch to launch (the same sample: 0.05 to 0.3 of it).
_UNEVEN = 0.16
_LINE = 512  # bytes of a cache line
_COUNTS = ("fops", "hit", "allocate")


def variant_of(dur: int) -> int:
    """Which launch of a kernel it is, by its duration."""
    return (dur * 40_503 >> 8) % VARIANTS


def core_time_share(kernel: Kernel, variant: int) -> float:
    """What `core_time` asks for."""
    mean = _AROUND_CUBE if kernel.core in ("AI_CORE", "MIX_AIC") else _AROUND
    return mean * (1 + _DIFFERS * (Random(f"{kernel.name}/{variant}").random() - 0.5))


def core_time(dur: int, beside: float) -> float:
    """ns, with a fraction, that the cores take of a launch of `dur` ns. beside: of `core_time_share`."""
    return dur - beside * dur / (dur + _HALF)


def kernel_cells(headers: tuple[str, ...], kernel: Kernel, process: Process, variant: int = 0) -> list[Cell]:
    """Cells under these headers; zeros where a core does not run the kernel."""
    random = Random(f"{variant}/{kernel.name}")
    pipes = {unit: min(0.99, share * (1 + _UNEVEN * (random.random() - 0.5))) for unit, share in kernel.pipes.items()}
    kernel = replace(kernel, pipes=pipes)
    on_cube = kernel.core in ("AI_CORE", "MIX_AIC")
    on_vector = kernel.core != "AI_CORE" or not process.split
    out = []
    for name in headers:
        vector = name.startswith("aiv_")
        base = name[4:] if name.startswith(("aic_", "aiv_")) else name
        if not (on_vector if vector else on_cube):
            whole = base.endswith((*_COUNTS, "cycles", names.PERCENT))
            out.append(("fixed", 0 if whole else 0.0))
        else:
            out.append(_cell(base, kernel, process, vector))
    return out


def _share(value: float) -> Cell:
    return "fixed", round(value, 3)


def _cell(name: str, kernel: Kernel, process: Process, vector: bool) -> Cell:
    """One cell; `name` without the core in front. A time and its ratio come from the same rounded share."""
    pipes = kernel.pipes
    part = 0.5 if kernel.core == "MIX_AIC" else 1.0  # both kinds of core move data
    unit = name.partition("_")[0]
    if name in (names.CORE_TIME, names.TIME):
        return "time", 1.0
    if name == "total_cycles":
        blocks = kernel.mix if vector and kernel.mix else kernel.block
        return "cycles", blocks * process.clock / 1000
    if name == f"{unit}_{names.TIME}":
        return "time", round(pipes[unit], 3)
    if name == f"{unit}_ratio":
        return _share(pipes[unit])
    if name == "icache_miss_rate":
        return _share(min(0.9, pipes["icache"]))
    if name == "memory_bound":
        return _share(pipes["mte2"] / max(pipes["mac"], pipes["vec"], 0.001))
    if name == names.CUBE_UTILIZATION:
        return "use", 100 * min(1.0, kernel.block / process.cube_cores)
    if name.endswith(names.GIGABYTES_A_SECOND):
        if vector and process.split and name.startswith("l0c"):  # the vector core has none
            return "rate", 0.0
        return "rate", part * _bytes_of_bandwidth(name[: -len(names.GIGABYTES_A_SECOND)], kernel)
    if name.endswith(names.KILOBYTES):
        carried = _bytes_between(name[: -len("_datas" + names.KILOBYTES)], kernel, vector, process.split)
        return _share(part * carried / 1024)
    if name.endswith(("hit", "allocate")):
        return "fixed", int(part * _lines(name, kernel))
    return _arithmetic(name, kernel)


def _arithmetic(name: str, kernel: Kernel) -> Cell:
    """Ratios by type of element, operations, conflicts."""
    pipes, work = kernel.pipes, kernel.work
    if name == "cube_fops":
        return "fixed", int(work.cube_flops)
    if name == "vector_fops":
        return "fixed", int(work.vector_flops)
    kind = kernel.input_types.partition(";")[0]
    is_whole, is_single = kind.startswith(("INT", "UINT", "BOOL")), kind == "FLOAT"
    shares = {
        "mac_fp16_ratio": 0.0 if kind == "INT8" else pipes["mac"],
        "mac_int8_ratio": pipes["mac"] if kind == "INT8" else 0.0,
        "vec_fp32_ratio": pipes["vec"] if is_single else 0.0,
        "vec_fp16_ratio": 0.0 if is_single or is_whole else pipes["vec"],
        "vec_int32_ratio": pipes["vec"] if is_whole else 0.0,
        "vec_misc_ratio": pipes["scalar"] * 0.1,
        "vec_bankgroup_cflt_ratio": pipes["vec"] * 0.05,
        "vec_bank_cflt_ratio": pipes["vec"] * 0.08,
        "vec_resc_cflt_ratio": pipes["vec"] * 0.02,
    }
    return _share(shares[name])


def _bytes_of_bandwidth(name: str, kernel: Kernel) -> float:
    """Bytes behind a bandwidth: those of global memory, and what its buffers pass on."""
    work = kernel.work
    place, _, way = name.partition("_read" if "_read" in name else "_write")
    reads = "_read" in name
    if place == "main_mem":
        return float(work.main_read if reads else work.main_written)
    size = work.read if reads else work.written
    if "scalar" in way:
        return size * 0.01
    factors = {"l2": 1.0, "l1": 1.6, "ub": 1.0, "l0a": 2.0, "l0b": 2.0, "l0c": 1.0}
    return float(size) * factors[place]


def _bytes_between(name: str, kernel: Kernel, vector: bool, split: bool) -> float:
    """Bytes between two places. On split chips the cube core has no UB and the vector core no L1 and L0C."""
    work = kernel.work
    unit = "UB" if vector else "L0C" if split else ""
    sizes = {
        "read_main_memory": work.main_read,
        "write_main_memory": work.main_written,
        "GM_to_L1": 0 if unit == "UB" else work.read,
        "L0C_to_L1": 0,
        "L0C_to_GM": 0 if unit == "UB" else work.written,
        "GM_to_UB": 0 if unit == "L0C" else work.read,
        "UB_to_GM": 0 if unit == "L0C" else work.written,
    }
    return float(sizes[name])


def _lines(name: str, kernel: Kernel) -> float:
    """Cache lines that were hit, or missed and allocated. Two ports read."""
    work, hit = kernel.work, name.endswith("hit")
    if name.startswith("write"):
        return (work.kept if hit else work.main_written) / _LINE
    return (work.cached if hit else work.main_read) / _LINE / 2
