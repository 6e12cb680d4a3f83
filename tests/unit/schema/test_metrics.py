from __future__ import annotations

import pytest

from tb_npu_plugin.schema.metrics import Guess, metric_column
from tb_npu_plugin.tables import Kind


@pytest.mark.parametrize(
    ("header", "key", "kind", "guess"),
    [
        ("aic_mac_time(us)", "aic_mac_time", Kind.DURATION, Guess.NOTHING),
        ("aicore_time(us)", "aicore_time", Kind.DURATION, Guess.NOTHING),
        ("vec_ratio", "vec_ratio", Kind.RATIO, Guess.NOTHING),
        ("aic_icache_miss_rate", "aic_icache_miss_rate", Kind.RATIO, Guess.NOTHING),
        ("aiv_ub_read_bw_vector(GB/s)", "aiv_ub_read_bw_vector", Kind.BANDWIDTH, Guess.NOTHING),
        ("aic_GM_to_L1_datas(KB)", "aic_gm_to_l1_datas", Kind.BYTES, Guess.NOTHING),
        ("cube_utilization(%)", "cube_utilization", Kind.PERCENT, Guess.NOTHING),
        ("total_cycles", "total_cycles", Kind.INT, Guess.FRACTIONS),
        ("aic_r0_read_cache_hit", "aic_r0_read_cache_hit", Kind.INT, Guess.FRACTIONS),
        ("aic_write_cache_miss_allocate", "aic_write_cache_miss_allocate", Kind.INT, Guess.FRACTIONS),
        ("aic_cube_fops", "aic_cube_fops", Kind.INT, Guess.FRACTIONS),
        ("memory_bound", "memory_bound", Kind.FLOAT, Guess.NOTHING),
        ("wonder", "wonder", Kind.FLOAT, Guess.FIGURES),
        ("新指标", "新指标", Kind.FLOAT, Guess.FIGURES),
        ("(%)", "column", Kind.PERCENT, Guess.NOTHING),
    ],
)
def test_headers_tell_the_kind(header: str, key: str, kind: Kind, guess: Guess) -> None:
    column, found = metric_column(header)
    assert (column.key, column.kind, found) == (key, kind, guess)
    assert column.group == "metric"


def test_docs_name_unit_and_cores() -> None:
    assert metric_column("aic_mte2_time(us)")[0].doc == (
        "Time that MTE2 (global memory to L1 or UB) was busy on the cube cores."
    )
    assert metric_column("aiv_ub_read_bw(GB/s)")[0].doc == "Bandwidth: ub read on the vector cores."
