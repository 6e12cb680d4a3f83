"""Headers of kernel_details.csv as recorded; no word of it comes from the package.
Source: docs/facts/ascend_pt.md, kernel_details.csv, Metric columns."""

from __future__ import annotations

_LEVEL_0 = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num"
_LEVEL_1 = (
    "Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
    "Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
    "Output Formats,Context ID"
)
_L2 = "write_cache_hit write_cache_miss_allocate r0_read_cache_hit r0_read_cache_miss_allocate r1_read_cache_hit r1_read_cache_miss_allocate"
_ACCESS = (
    "read_main_memory_datas(KB) write_main_memory_datas(KB) GM_to_L1_datas(KB) L0C_to_L1_datas(KB) L0C_to_GM_datas(KB) "
    "GM_to_UB_datas(KB) UB_to_GM_datas(KB)"
)
#: aic_metrics -> of the cube cores, of the vector cores (both with their prefix), on the whole; on chips whose cores are split.
_SPLIT = {
    "PipeUtilization": (
        "mac_time(us) mac_ratio scalar_time(us) scalar_ratio mte1_time(us) mte1_ratio mte2_time(us) mte2_ratio "
        "fixpipe_time(us) fixpipe_ratio icache_miss_rate",
        "vec_time(us) vec_ratio scalar_time(us) scalar_ratio mte2_time(us) mte2_ratio mte3_time(us) mte3_ratio "
        "icache_miss_rate",
        "cube_utilization(%)",
    ),
    "ArithmeticUtilization": (
        "mac_fp16_ratio mac_int8_ratio cube_fops",
        "vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio vector_fops",
        "",
    ),
    "Memory": (
        "l1_read_bw(GB/s) l1_write_bw(GB/s) main_mem_read_bw(GB/s) main_mem_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)",
        "ub_read_bw(GB/s) ub_write_bw(GB/s) main_mem_read_bw(GB/s) main_mem_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)",
        "",
    ),
    "MemoryL0": (
        "l0a_read_bw(GB/s) l0a_write_bw(GB/s) l0b_read_bw(GB/s) l0b_write_bw(GB/s) l0c_read_bw_cube(GB/s) "
        "l0c_write_bw_cube(GB/s)",
        "l0c_read_bw(GB/s) l0c_write_bw(GB/s)",
        "",
    ),
    "MemoryUB": (
        "ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)",
        "ub_read_bw_vector(GB/s) ub_write_bw_vector(GB/s) ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)",
        "",
    ),
    "ResourceConflictRatio": ("", "vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio", ""),
    "L2Cache": (_L2, _L2, ""),
    "MemoryAccess": (_ACCESS, _ACCESS, ""),
}
#: On chips with one kind of core; in any order.
_UNIFIED = {
    "PipeUtilization": "vec_time(us) vec_ratio mac_time(us) mac_ratio scalar_time(us) scalar_ratio mte1_time(us) mte1_ratio "
    "mte2_time(us) mte2_ratio mte3_time(us) mte3_ratio icache_miss_rate memory_bound cube_utilization(%)",
    "ArithmeticUtilization": "mac_fp16_ratio mac_int8_ratio vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio "
    "cube_fops vector_fops",
    "Memory": "ub_read_bw(GB/s) ub_write_bw(GB/s) l1_read_bw(GB/s) l1_write_bw(GB/s) main_mem_read_bw(GB/s) "
    "main_mem_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)",
    "MemoryL0": "l0a_read_bw(GB/s) l0a_write_bw(GB/s) l0b_read_bw(GB/s) l0b_write_bw(GB/s) l0c_read_bw(GB/s) "
    "l0c_write_bw(GB/s) l0c_read_bw_cube(GB/s) l0c_write_bw_cube(GB/s)",
    "MemoryUB": "ub_read_bw_vector(GB/s) ub_write_bw_vector(GB/s) ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)",
    "ResourceConflictRatio": "vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio",
    "L2Cache": _L2,
    "MemoryAccess": _ACCESS,
}


def check_columns(header: list[str], level: str, metrics: str, unified: bool, steps: bool) -> None:
    """The header is that of a capture at this level (Level0 to Level2), with these metrics, on such a chip."""
    base = ["Step Id"] * steps + (_LEVEL_0 if level == "Level0" else _LEVEL_1).split(",")
    assert header[: len(base)] == base
    check_metrics(header[len(base) :], "AiCoreNone" if level == "Level0" else metrics, unified)


def check_metrics(found: list[str], metrics: str, unified: bool) -> None:
    """These headers are those that the metrics bring."""
    if metrics == "AiCoreNone":
        assert found == []
    elif unified:
        assert found[:2] == ["aicore_time(us)", "total_cycles"]
        assert sorted(found[2:]) == sorted(_UNIFIED[metrics].split())
    else:
        cube, vector, whole = (names.split() for names in _SPLIT[metrics])
        of_cube = ["aicore_time(us)", "aic_total_cycles", *(f"aic_{name}" for name in cube)]
        of_vector = ["aiv_time(us)", "aiv_total_cycles", *(f"aiv_{name}" for name in vector)]
        assert found == [*of_cube, *of_vector, *whole]
