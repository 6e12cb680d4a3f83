"""L2 rates find the kernels that they were measured of."""

from __future__ import annotations

from tb_npu_plugin.analysis.kernels.l2_cache import with_l2
from tb_npu_plugin.schema.torch_npu_csv import KERNELS, L2_CACHE
from tb_npu_plugin.tables import Table, from_lists

_KEYS = ("stream_id", "task_id", "name")


def kernels(*rows: tuple[int, int, str]) -> Table:
    return from_lists([KERNELS.column(key) for key in _KEYS], dict(zip(_KEYS, zip(*rows))))


def rates(*rows: tuple[int, int, str, float]) -> Table:
    keys = (*_KEYS, "victim_rate")
    values = dict(zip(keys, zip(*rows)))
    return from_lists([L2_CACHE.column(key) for key in (*keys, "hit_rate")], {**values, "hit_rate": [None] * len(rows)})


def test_by_stream_task_and_name() -> None:
    table = with_l2(
        kernels((1, 7, "a"), (2, 7, "a"), (1, 7, "b"), (1, 8, "c")),
        rates((1, 7, "b", 0.5), (2, 7, "a", 0.25), (1, 7, "a", 1.5), (9, 9, "z", 1)),
    )
    assert [None if rate != rate else rate for rate in table.floats("l2_victim_rate").tolist()] == [
        1.5,
        0.25,
        0.5,
        None,
    ]
    assert not table.has("l2_hit_rate"), "a column that nothing is known of is none"


def test_a_task_id_that_comes_again() -> None:
    again = kernels((1, 7, "a"), (1, 7, "a"))
    assert with_l2(again, rates((1, 7, "a", 0.5), (1, 7, "a", 0.25))).floats("l2_victim_rate").tolist() == [0.5, 0.25]
    assert not with_l2(again, rates((1, 7, "a", 0.5))).has("l2_victim_rate"), "nothing tells whose it is"
