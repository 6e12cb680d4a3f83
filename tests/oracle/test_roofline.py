"""Kernel: FLOPs, least traffic, bound and the peak of each kernel are those that its row of kernel_details.csv gives."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Optional

import pytest

from tests.oracle.raw import COMMUNICATION, Row, every_result, raw
from tests.oracle.shown import show

FOLDERS = every_result("kernel_details.csv")
BYTES = {"FLOAT": 4, "BF16": 2, "FLOAT16": 2, "INT32": 4, "INT64": 8, "UINT8": 1, "UINT16": 2, "BOOL": 1}


def _shapes(row: Row, side: str) -> list[list[int]]:
    text = row[f"{side} Shapes"].strip('"')
    return [[int(part) for part in shape.split(",") if part] for shape in text.split(";")]


def _flops(row: Row) -> Optional[int]:
    """By counting multiply-adds from the sizes of the three tensors alone, where the product can tell them."""
    type = row["Type"]
    if "N/A" in (row.get("Input Shapes", "N/A"), row.get("Output Shapes", "N/A")):
        return None
    inputs, outputs = _shapes(row, "Input"), _shapes(row, "Output")
    if type.startswith(("MatMul", "BatchMatMul")):
        left, right, out = (prod(shape) for shape in (inputs[0], inputs[1], outputs[0]))
        batch = prod(outputs[0][:-2])
        if len(inputs[0]) != len(outputs[0]) or len(inputs[1]) != len(outputs[0]):
            return None
        inner = Fraction(left * right, out * batch)  # m k x k n / m n, for each of the batch
        return 2 * out * round(float(inner) ** 0.5)
    if type in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"):  # tensors are NC1HWC0
        batch, _, height, width, _ = outputs[0] if type == "Conv2D" else inputs[2]
        return 2 * batch * height * width * prod(outputs[0] if type.endswith("Filter") else inputs[1])
    return None


def _bytes(row: Row) -> Optional[int]:
    if "N/A" in (row["Input Shapes"], row["Output Shapes"]):
        return None
    total = 0
    for side in ("Input", "Output"):
        types = [name.removeprefix("DT_") for name in row[f"{side} Data Types"].split(";")]
        shapes = _shapes(row, side)
        if len(types) != len(shapes) or not set(types) <= set(BYTES):
            return None
        total += sum(prod(shape) * BYTES[name] for shape, name in zip(shapes, types))
    return total


def _is_cube(row: Row) -> bool:
    return row["Accelerator Core"] in ("AI_CORE", "MIX_AIC") and "Attention" not in row["Type"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_work_and_bound(folder: Path) -> None:
    rows, shown = raw(folder).kernels, show("kernel", folder)
    flops = bounds = 0
    for row, found in zip(rows, shown.tables["all"]):
        if row["Accelerator Core"] in COMMUNICATION:
            assert (found.get("gflops"), found.get("least_bytes"), found.get("bound")) == (None, None, None)
            continue
        expected = _flops(row)
        if expected is not None:
            assert found["gflops"] == pytest.approx(expected / 1e9, rel=1e-12)
            flops += expected
        if "Input Shapes" in row:
            assert found.get("least_bytes") == _bytes(row)
        if "aic_mac_ratio" in row and _is_cube(row) and row["aic_mac_ratio"] != "N/A":
            is_cube = float(row["aic_mac_ratio"]) >= 0.8
            is_memory = not is_cube and float(row["aic_mte2_ratio"]) >= 0.95
            assert (found.get("bound") == "Cube", found.get("bound") == "MTE2") == (is_cube, is_memory)
            bounds += 1
    if folder.name == "rank1_ascend_pt":
        assert (flops, bounds) > (0, 20)
        assert shown.data["roofline"]["device"]["peak_flops"] == 24 * 1800e6 * 2 * 16**3
        assert sum(step["gflops"] for step in shown.data["roofline"]["steps"]) * 1e9 == pytest.approx(flops)
