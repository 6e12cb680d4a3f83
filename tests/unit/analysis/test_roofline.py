"""Bound, FLOPs, least traffic and MFU of kernels, on hand-made figures."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Optional

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_npu_plugin.analysis.kernels import roofline as roofline_module
from tb_npu_plugin.analysis.kernels.bound import bounds
from tb_npu_plugin.analysis.kernels.roofline import (
    RooflineDistance,
    device,
    distance_of,
    roofline,
    utilisation,
    with_group_figures,
    with_mfu,
)
from tb_npu_plugin.analysis.kernels.statistics import CORE, TYPE, by_name, kinds_of
from tb_npu_plugin.analysis.kernels.work import GFLOPS as GFLOPS_COLUMN
from tb_npu_plugin.analysis.kernels.work import LEAST_BYTES, SIZES, least_bytes, operations, tensors, with_work
from tb_npu_plugin.schema.chips import CHIPS, bandwidth_of, chip_of
from tb_npu_plugin.schema.metrics import metric_column
from tb_npu_plugin.tables import NULL_INT, Kind, StoredColumns, StringColumn, Table
from tests.support.span import table_of


@pytest.mark.parametrize(
    ("type", "inputs", "formats", "outputs", "output_formats", "expected"),
    [
        ("MatMulV2", "32,9216;4096,9216;4096", "ND;ND;ND", "32,4096", "ND", 2 * 32 * 4096 * 9216),
        ("MatMulV3", "32,4096;32,9216", "ND;ND", "4096,9216", "ND", 2 * 32 * 4096 * 9216),
        ("BatchMatMulV2", "8,16,128,64;8,16,64,256", "ND;ND", "8,16,128,256", "ND", 2 * 8 * 16 * 128 * 64 * 256),
        ("BatchMatMul", "8,128,64;64,256", "ND;ND", "8,128,256", "ND", 2 * 8 * 128 * 64 * 256),
        ("GroupedMatmul", "100,64;4,64,256;4", "ND;ND;ND", "100,256", "ND", 2 * 100 * 64 * 256),
        ("MatMulV2", "4,2,16,16;32,48", "FRACTAL_NZ;ND", "32,48", "ND", None),
        ("MatMulV2", "2,2,16,16;32,48", "FRACTAL_NZ;ND", "32,48", "ND", 2 * 32 * 32 * 48),
        ("MatMulV2", "32,4096;1000,4095", "ND;ND", "32,1000", "ND", None),
        ("Conv2D", "2,3,8,8;6,3,3,3;6", "NCHW;NCHW;ND", "2,6,4,4", "NCHW", 2 * (2 * 4 * 4) * (6 * 3 * 3 * 3)),
        ("Conv2D", "2,1,8,8,16;9,1,16,16", "NC1HWC0;FRACTAL_Z", "2,1,4,4,16", "NC1HWC0", 2 * 32 * 9 * 256),
        ("Conv2DBackpropInput", "4;6,3,3,3;2,6,4,4", "ND;NCHW;NCHW", "2,3,8,8", "NCHW", 2 * 32 * 162),
        ("Conv2DBackpropFilter", "2,3,8,8;4;2,6,4,4", "NCHW;ND;NCHW", "6,3,3,3", "NCHW", 2 * 32 * 162),
        ("DepthwiseConv2D", "2,1,8,8,16;9,1,16,16", "NC1HWC0;FRACTAL_Z", "2,1,4,4,16", "NC1HWC0", None),
        ("FlashAttentionScore", "1,4,256,64;1,2,512,64;1,2,512,64", "", "1,4,256,64", "", 4 * 4 * 256 * 512 * 64),
        ("FlashAttentionScoreGrad", "1,4,8,64;1,4,8,64;1,4,8,64", "", "1,4,8,64", "", 10 * 4 * 8 * 8 * 64),
        ("FlashAttentionScore", "256,1,4096;256,1,4096;256,1,4096", "", "256,1,4096", "", None),
        ("Add", "32,32;32,32", "ND;ND", "32,32", "ND", None),
    ],
)
def test_operations_follow_from_shapes(
    type: str, inputs: str, formats: str, outputs: str, output_formats: str, expected: Optional[int]
) -> None:
    types = ";".join(["DT_BF16"] * (inputs.count(";") + 1))
    given, made = tensors(inputs, types, formats), tensors(outputs, "DT_BF16", output_formats)
    assert given is not None and made is not None
    assert operations(type, given, made) == expected


@pytest.mark.parametrize(
    ("shapes", "types", "expected"),
    [
        ("2,3;4", "FLOAT;DT_BF16", 32),
        ("2,3;", "INT64;BOOL", 49),
        ("2,3", "STRING", None),
        ("2,3;4", "FLOAT", None),
        ("2,-1", "FLOAT", None),
        (None, "FLOAT", None),
        ("999999999,999999999", "FLOAT", None),
    ],
)
def test_least_traffic(shapes: Optional[str], types: str, expected: Optional[int]) -> None:
    others = [("7,;2", "FLOAT"), ("2,3", "FLOAT;FLOAT"), ("5", "INT8")]
    texts = [StringColumn.of(one) for one in zip(*others, (shapes, types))]
    assert least_bytes(*texts).tolist() == [NULL_INT, NULL_INT, 5, NULL_INT if expected is None else expected]


@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.none(),
                st.text("0123,;-", max_size=12),
                st.lists(st.lists(st.integers(0, 10**15), max_size=4), max_size=4).map(
                    lambda one: ";".join(",".join(map(str, dims)) for dims in one)
                ),
            ),
            st.lists(st.sampled_from(["FLOAT", "DT_BF16", "INT8", "STRING"]), min_size=1, max_size=4).map(";".join),
        ),
        max_size=20,
    )
)
def test_least_traffic_of_many_kernels_is_that_of_each(kernels: list[tuple[Optional[str], str]]) -> None:
    def of_one(shapes: Optional[str], types: str) -> int:
        found = tensors(shapes, types, None)
        sizes = [SIZES.get(one.type) for one in found or []]
        if found is None or None in sizes:
            return NULL_INT
        return sum(one.size * (size or 0) for one, size in zip(found, sizes))

    shapes, types = ([one[side] for one in kernels] for side in (0, 1))
    assert least_bytes(StringColumn.of(shapes), StringColumn.of(types)).tolist() == [of_one(*one) for one in kernels]


def _random_side(random: Random, count: int) -> dict[str, str]:
    """Shapes, types and formats of so many tensors; most are matrices of 2 and 3 rows and columns."""

    def tensor() -> tuple[str, str, str]:
        batch = random.choice(["", "", "", "2,", "2,1,16,"])
        odd = random.choice(["", "2", "-1,2", "0,2", "1000000000,1000000000"])
        shape = odd if random.random() < 0.1 else f"{batch}{random.choice('23')},{random.choice('23')}"
        return shape, "FLOAT", "FRACTAL_NZ" if random.random() < 0.1 else "ND"

    columns = zip(("shapes", "types", "formats"), zip(*(tensor() for _ in range(count))))
    side = {key: ";".join(texts) for key, texts in columns if random.random() > 0.02}
    return {**side, "types": "FLOAT"} if random.random() < 0.05 else side


def test_work_of_many_multiplications_is_that_of_each() -> None:
    random = Random(1)
    sides = [
        (_random_side(random, random.choice([2, 2, 3])), _random_side(random, random.choice([1, 1, 1, 2])))
        for _ in range(3000)
    ]

    def of_one(given: dict[str, str], made: dict[str, str]) -> Optional[int]:
        inputs, outputs = (tensors(*map(side.get, ("shapes", "types", "formats"))) for side in (given, made))
        return None if inputs is None or outputs is None else operations("MatMul", inputs, outputs)

    def row(given: dict[str, str], made: dict[str, str]) -> dict[str, str]:
        named = {f"input_{key}": text for key, text in given.items()}
        return {"type": "MatMul", **named, **{f"output_{key}": text for key, text in made.items()}}

    found = with_work(kernels(*map(row, *zip(*sides)))).floats("gflops").tolist()
    expected = [of_one(*side) for side in sides]
    assert sum(map(bool, expected)) > 200
    assert found == pytest.approx([np.nan if one is None else one / 1e9 for one in expected], nan_ok=True, rel=0, abs=0)


def kernels(*rows: dict[str, Any]) -> Table:
    """Kernels with counters, by the headers of kernel_details.csv."""
    named = {key for row in rows for key in row}
    metrics = [metric_column(key)[0] for key in named if key.startswith(("aic", "aiv", "cube"))]
    keyed = [
        {metric_column(k)[0].key if k.startswith("cube") else k.split("(")[0]: v for k, v in row.items()}
        for row in rows
    ]
    return table_of("kernels", [{"name": "k", "start_ns": 0, "dur_ns": 30_000, **row} for row in keyed], *metrics)


@pytest.mark.parametrize(
    ("core", "type", "ratios", "dur", "expected"),
    [
        ("AI_CORE", "MatMulV2", {"aic_mac_ratio": 0.81, "aic_mte1_ratio": 0.9}, 30_000, "Cube"),
        ("AI_CORE", "MatMulV2", {"aic_mac_ratio": 0.5, "aic_mte2_ratio": 0.95}, 30_000, "MTE2"),
        ("AI_CORE", "MatMulV2", {"aic_mac_ratio": 0.5, "aic_mte2_ratio": 0.94}, 30_000, "No bound"),
        ("AI_CORE", "MatMulV2", {"aic_mac_ratio": 0.5}, 19_999, None),
        ("AI_VECTOR_CORE", "Add", {"aiv_vec_ratio": 0.1, "aiv_mte3_ratio": 0.7}, 30_000, "MTE3"),
        ("AI_VECTOR_CORE", "Add", {"aiv_vec_ratio": 0.3, "aiv_mte2_ratio": 0.35, "aiv_mte3_ratio": 0.25}, 9, "MTE2"),
        ("AI_VECTOR_CORE", "Add", {"aiv_vec_ratio": 0.3, "aiv_mte2_ratio": 0.35}, 30_000, "No bound"),
        ("AI_VECTOR_CORE", "Add", {"aiv_scalar_ratio": 0.8}, 30_000, "Scalar"),
        ("MIX_AIC", "FlashAttentionScore", {"aic_mac_ratio": 0.6, "aiv_vec_ratio": 0.75}, 30_000, "Vector"),
        ("MIX_AIC", "FlashAttentionScoreGrad", {"aiv_vec_ratio": 0.75, "aic_fixpipe_ratio": 0.7}, 30_000, "No bound"),
        ("MIX_AIC", "FlashAttentionScoreGrad", {"aic_fixpipe_ratio": 0.75}, 30_000, "FixPipe"),
        ("HCCL", "hcom_allReduce_", {"aiv_mte2_ratio": 0.9}, 30_000, None),
        ("AI_CPU", "Cast", {"aiv_mte2_ratio": 0.0}, 30_000, None),
    ],
)
def test_bound(core: str, type: str, ratios: dict[str, float], dur: int, expected: Optional[str]) -> None:
    table = kernels({"core": core, "type": type, "dur_ns": dur, "aiv_total_cycles": 1, "aic_total_cycles": 1, **ratios})
    assert bounds(table).labels.tolist() == [expected]


MATMUL = {
    **dict.fromkeys(("input_shapes",), "512,1024;1024,2048"),
    "output_shapes": "512,2048",
    "input_types": "DT_BF16;DT_BF16",
    "output_types": "DT_BF16",
    "type": "MatMulV3",
    "core": "AI_CORE",
    "step": "1",
    "block_dim": 20,
    "aic_total_cycles": 20 * 1800 * 25,
    "aicore_time(us)": 25_000,
    "cube_utilization(%)": 100 * 25 / 30 * 20 / 24,
}
GFLOPS = 2 * 512 * 1024 * 2048 / 1e9
PEAK = 24 * 1800e6 * 2 * 4096


def test_the_device_is_what_the_counters_say_else_the_chip_else_unknown() -> None:
    measured = device(kernels(MATMUL), None)
    assert (measured.cube_cores, measured.vector_cores, measured.clock_mhz) == (24, 48, 1800)
    assert (measured.peak_flops, measured.peak_origin, measured.bandwidth) == (
        PEAK,
        "recorded",
        1.6e12,
    )  # of every chip with 24 cores
    bare = kernels({"type": "MatMulV3"})
    assumed = device(bare, "Ascend910B3")
    assert (assumed.cube_cores, assumed.peak_origin, assumed.bandwidth) == (20, "assumed", 1.6e12)
    assert (device(bare, None).peak_flops, device(bare, None).peak_origin) == (None, "")
    given = device(bare, None, 1e14, 1e12)
    assert (given.peak_flops, given.peak_origin, given.bandwidth_origin) == (1e14, "given", "given")


def test_the_bandwidth_is_that_of_the_chips_with_so_many_cores_where_all_agree() -> None:
    assert [bandwidth_of(cores) for cores in (24, 32, 20, 7, None)] == [1.6e12, 1.2e12, None, None, None]


def test_a_figure_typed_before_is_for_devices_whose_own_is_unknown() -> None:
    measured, bare = kernels(MATMUL), kernels({"type": "MatMulV3"})
    own = device(measured, None, usual_peak=1e14, usual_bandwidth=1e12)
    assert (own.peak_flops, own.bandwidth, own.bandwidth_origin) == (PEAK, 1.6e12, "assumed")
    usual = device(bare, None, usual_peak=1e14, usual_bandwidth=1e12)
    assert (usual.peak_flops, usual.peak_origin, usual.bandwidth, usual.bandwidth_origin) == (
        1e14,
        "given",
        1e12,
        "given",
    )
    assert device(bare, None, 2e14, 2e12, 1e14, 1e12).bandwidth == 2e12  # of the address


@pytest.mark.filterwarnings("error")
def test_a_fraction_makes_cycles_floats_and_hides_no_other_kernel() -> None:
    table = kernels(MATMUL, MATMUL)
    columns = tuple(
        replace(column, kind=Kind.FLOAT) if column.key == "aic_total_cycles" else column for column in table.columns
    )
    cycles = np.array([MATMUL["aic_total_cycles"] + 0.5, np.nan])
    found = device(Table(columns, {**table.data, "aic_total_cycles": cycles}), None)
    assert (found.cube_cores, found.clock_mhz) == (24, 1800)


def test_utilisation_of_kernels_groups_and_steps() -> None:
    int8 = {**MATMUL, "input_types": "INT8;INT8", "output_types": "INT32", "name": "q"}
    vector = {"type": "Add", "core": "AI_VECTOR_CORE", "dur_ns": 40_000, "step": "1"}
    table = with_work(kernels(MATMUL, int8, vector))
    one = GFLOPS * 1e9 / 30e-6 / PEAK
    assert utilisation(table, PEAK).tolist() == pytest.approx([one, one / 2, np.nan], nan_ok=True)
    found = roofline(table, device(table, None), {"1": 200_000})
    assert found is not None
    assert found.known_share == pytest.approx(0.6) and found.mfu == pytest.approx(0.75 * one)
    assert found.steps[0].mfu == pytest.approx(1.5 * one * 30 / 200)
    assert [(point.name, point.calls, point.mfu) for point in found.points] == [
        ("k", 1, pytest.approx(one)),
        ("q", 1, pytest.approx(one / 2)),
    ]
    rows = with_group_figures(by_name(kinds_of(table)), {"name": "folded", "core": "core"}, table, PEAK)
    assert rows.floats("mfu").tolist() == pytest.approx([one, one / 2, np.nan], nan_ok=True)
    assert rows.floats("gflops").tolist() == pytest.approx([GFLOPS, GFLOPS, np.nan], nan_ok=True)


@pytest.mark.parametrize("most", [8, 0])
def test_groups_of_a_file_have_the_figures_of_their_kernels(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Also if other texts are in the file, and if there are too many combinations for an entry each."""
    monkeypatch.setattr(roofline_module, "_MOST_NUMBERS", most)
    table = with_work(kernels(MATMUL, {**MATMUL, "type": "BatchMatMul"}, {**MATMUL, "core": None}, MATMUL))
    groups = [("MatMulV3", "AI_CPU"), ("MatMulV3", "AI_CORE"), ("Add", "AI_CORE"), ("MatMulV3", None)]
    columns = (TYPE, CORE)
    data = {column.key: StringColumn.of(texts) for column, texts in zip(columns, zip(*groups))}
    found = with_group_figures(Table(columns, data), {"type": "type", "core": "core"}, table, PEAK)
    assert found.floats("gflops").tolist() == pytest.approx([np.nan, 2 * GFLOPS, np.nan, GFLOPS], nan_ok=True)


def test_computed_columns_leave_stored_ones_where_they_are() -> None:
    class Stored(StoredColumns):
        """Columns that count what is loaded."""

        def __init__(self, table: Table) -> None:
            self.rows, self._table, self.loaded = len(table), table, set[str]()

        def __getitem__(self, key: str) -> Any:
            self.loaded.add(key)
            return self._table.data[key]

        def __contains__(self, key: object) -> bool:
            return key in self._table.data

        def __iter__(self) -> Any:
            return iter(self._table.data)

        def __len__(self) -> int:
            return len(self._table.data)

        def pick(self, keys: Any, rows: Any) -> Any:
            return {key: self._table.take(rows).data[key] for key in keys}

    plain = with_work(kernels(MATMUL, MATMUL))
    stored = Stored(plain)
    table = with_mfu(Table(plain.columns, stored), PEAK)
    assert stored.loaded == {"gflops", "dur_ns", "input_types"}
    row = table.loaded(np.asarray([1]))
    assert (row.text("name").tolist(), row.floats("mfu").tolist()) == (
        ["k"],
        with_mfu(plain, PEAK).floats("mfu")[1:].tolist(),
    )


@pytest.mark.parametrize(
    ("device_name", "chip"),
    [
        *(("Ascend910A", "910A"), ("Ascend910B", "910B2"), ("Ascend910B3", "910B3"), ("Ascend910_9382", "910_93")),
        *(("Ascend310P3", "310P"), ("Ascend310B4", None), ("", None), (None, None)),
    ],
)
def test_the_chip_of_a_device_has_the_longest_name_that_fits(device_name: str | None, chip: str | None) -> None:
    assert chip_of(device_name) == (chip and CHIPS[chip])


def test_distance_from_the_roofline() -> None:
    """One kernel of 100 ns at half the peak; one of 300 ns that moves bytes for 150 ns; one of 100 ns without FLOPs."""
    peak, bandwidth = 1e12, 1e9
    rows = [
        {"name": "a", "dur_ns": 100, "gflops": 50e-9 * peak / 1e9, "least_bytes": 10},
        {"name": "b", "dur_ns": 300, "gflops": 30e-9 * peak / 1e9, "least_bytes": 150},
        {"name": "c", "dur_ns": 100},
    ]
    table = table_of("kernels", rows, GFLOPS_COLUMN, LEAST_BYTES)
    found = device(table, None, peak, bandwidth)
    known = distance_of(table, found)
    assert known == RooflineDistance(0.8, pytest.approx(0.2), pytest.approx(200 / 400))
    assert distance_of(table, replace(found, bandwidth=None)) == RooflineDistance(0.8, pytest.approx(0.2), None)
    assert distance_of(table, replace(found, peak_flops=None)) is None
    assert distance_of(table.take(np.array([2])), found) is None
