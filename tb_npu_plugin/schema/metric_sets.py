"""Metric columns of kernel_details.csv for each aic_metrics: header texts in file order, by kind of chip. Source:
docs/facts/ascend_pt.md, Metric columns. Readers identify columns by their headers (schema/metrics.py)."""

from __future__ import annotations

#: Header texts with a special meaning.
CORE_TIME, TIME, CUBE_UTILIZATION = "aicore_time(us)", "time(us)", "cube_utilization(%)"
#: Header suffixes: unit of the figure.
MICROSECONDS, GIGABYTES_A_SECOND, KILOBYTES, PERCENT = "(us)", "(GB/s)", "(KB)", "(%)"

BASE = ((CORE_TIME, "aic_total_cycles"), ("aiv_time(us)", "aiv_total_cycles"))
_L2 = (
    "write_cache_hit",
    "write_cache_miss_allocate",
    "r0_read_cache_hit",
    "r0_read_cache_miss_allocate",
    "r1_read_cache_hit",
    "r1_read_cache_miss_allocate",
)
_ACCESS = (
    "read_main_memory_datas(KB)",
    "write_main_memory_datas(KB)",
    "GM_to_L1_datas(KB)",
    "L0C_to_L1_datas(KB)",
    "L0C_to_GM_datas(KB)",
    "GM_to_UB_datas(KB)",
    "UB_to_GM_datas(KB)",
)


def _pairs(core: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{core}{part}_{kind}" for part in parts for kind in (TIME, "ratio"))


def _bandwidths(core: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{core}{name}{GIGABYTES_A_SECOND}" for name in names)


#: aic_metrics -> (columns of the cube core, columns of the vector core, columns at the end), on split chips
SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "ACL_AICORE_PIPE_UTILIZATION": (
        (*_pairs("aic_", ("mac", "scalar", "mte1", "mte2", "fixpipe")), "aic_icache_miss_rate"),
        (*_pairs("aiv_", ("vec", "scalar", "mte2", "mte3")), "aiv_icache_miss_rate"),
        (CUBE_UTILIZATION,),
    ),
    "ACL_AICORE_ARITHMETIC_UTILIZATION": (
        ("aic_mac_fp16_ratio", "aic_mac_int8_ratio", "aic_cube_fops"),
        ("aiv_vec_fp32_ratio", "aiv_vec_fp16_ratio", "aiv_vec_int32_ratio", "aiv_vec_misc_ratio", "aiv_vector_fops"),
        (),
    ),
    "ACL_AICORE_MEMORY_BANDWIDTH": (
        _bandwidths(
            "aic_", ("l1_read_bw", "l1_write_bw", "main_mem_read_bw", "main_mem_write_bw", "l2_read_bw", "l2_write_bw")
        ),
        _bandwidths(
            "aiv_", ("ub_read_bw", "ub_write_bw", "main_mem_read_bw", "main_mem_write_bw", "l2_read_bw", "l2_write_bw")
        ),
        (),
    ),
    "ACL_AICORE_L0B_AND_WIDTH": (
        _bandwidths(
            "aic_",
            ("l0a_read_bw", "l0a_write_bw", "l0b_read_bw", "l0b_write_bw", "l0c_read_bw_cube", "l0c_write_bw_cube"),
        ),
        _bandwidths("aiv_", ("l0c_read_bw", "l0c_write_bw")),
        (),
    ),
    "ACL_AICORE_MEMORY_UB": (
        _bandwidths("aic_", ("ub_read_bw_scalar", "ub_write_bw_scalar")),
        _bandwidths("aiv_", ("ub_read_bw_vector", "ub_write_bw_vector", "ub_read_bw_scalar", "ub_write_bw_scalar")),
        (),
    ),
    "ACL_AICORE_RESOURCE_CONFLICT_RATIO": (
        (),
        ("aiv_vec_bankgroup_cflt_ratio", "aiv_vec_bank_cflt_ratio", "aiv_vec_resc_cflt_ratio"),
        (),
    ),
    "ACL_AICORE_L2_CACHE": (tuple(f"aic_{n}" for n in _L2), tuple(f"aiv_{n}" for n in _L2), ()),
    "ACL_AICORE_MEMORY_ACCESS": (tuple(f"aic_{n}" for n in _ACCESS), tuple(f"aiv_{n}" for n in _ACCESS), ()),
}
#: The same for chips with unified cores, after aicore_time(us) and total_cycles.
UNIFIED: dict[str, tuple[str, ...]] = {
    "ACL_AICORE_PIPE_UTILIZATION": (
        *_pairs("", ("vec", "mac", "scalar", "mte1", "mte2", "mte3")),
        "icache_miss_rate",
        "memory_bound",
        CUBE_UTILIZATION,
    ),
    "ACL_AICORE_ARITHMETIC_UTILIZATION": (
        "mac_fp16_ratio",
        "mac_int8_ratio",
        "vec_fp32_ratio",
        "vec_fp16_ratio",
        "vec_int32_ratio",
        "vec_misc_ratio",
        "cube_fops",
        "vector_fops",
    ),
    "ACL_AICORE_MEMORY_BANDWIDTH": _bandwidths(
        "", tuple(f"{place}_{way}_bw" for place in ("ub", "l1", "l2", "main_mem") for way in ("read", "write"))
    ),
    "ACL_AICORE_L0B_AND_WIDTH": _bandwidths(
        "",
        (
            "l0a_read_bw",
            "l0a_write_bw",
            "l0b_read_bw",
            "l0b_write_bw",
            "l0c_read_bw",
            "l0c_write_bw",
            "l0c_read_bw_cube",
            "l0c_write_bw_cube",
        ),
    ),
    "ACL_AICORE_MEMORY_UB": _bandwidths(
        "", tuple(f"ub_{way}_bw_{by}" for by in ("vector", "scalar") for way in ("read", "write"))
    ),
    "ACL_AICORE_RESOURCE_CONFLICT_RATIO": ("vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio", "vec_resc_cflt_ratio"),
    "ACL_AICORE_L2_CACHE": _L2,
    "ACL_AICORE_MEMORY_ACCESS": _ACCESS,
}


def columns(metrics: str, split: bool) -> tuple[str, ...]:
    """Header texts in file order; none for ACL_AICORE_NONE."""
    if metrics not in SETS:
        return ()
    if not split:
        return (CORE_TIME, "total_cycles", *UNIFIED[metrics])
    cube, vector, tail = SETS[metrics]
    return (*BASE[0], *cube, *BASE[1], *vector, *tail)
