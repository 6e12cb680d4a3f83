"""The cost model of the simulated device against kernels of a real 910B2: by type, and in all."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

from tb_npu_plugin.capture.simulation.launch import Rule, launch
from tb_npu_plugin.capture.simulation.work import TYPES, Tensor, Tensors
from tb_npu_plugin.schema.chips import CHIPS
from tests.support.real_data import recording

#: CANN's names of element types -> PyTorch's. Those that PyTorch lacks have the size of another.
NAMES = {name: kind for kind, (name, _) in reversed(TYPES.items())} | {"UINT16": "c10::Half", "UINT64": "long int"}
#: Kernels whose shapes do not tell what they do: of the second input of the pooling gradient nobody knows how much is read.
UNTOLD = {"MemSet", "hcom_allReduce_"}
CHIP = CHIPS["910B2"]


def _tensors(row: dict[str, str], side: str) -> Tensors:
    shapes = row[f"{side} Shapes"].strip('"')
    if shapes in ("", "N/A"):
        return ()
    columns = (shapes.split(";"), row[f"{side} Data Types"].split(";"), row[f"{side} Formats"].split(";"))
    return tuple(
        Tensor(tuple(int(part) for part in shape.split(",") if part), NAMES.get(type_, "float"), format_)
        for shape, type_, format_ in zip(*columns)
    )


def _model_ns(row: dict[str, str]) -> int:
    inputs = _tensors(row, "Input")
    type_ = row["Type"]
    if type_ == "MaxPoolGradWithArgmaxV1":
        inputs = inputs[:2]  # the sizes of the third are not what is read
    rule = Rule("", "", "", type_, row["Accelerator Core"], fresh=not type_.startswith("Foreach"))
    blocks = int(row["Block Dim"])
    return launch(CHIP, rule, inputs, _tensors(row, "Output"), blocks).ns


def ratios(folder: Path) -> tuple[dict[str, list[float]], float]:
    """Model by real of each kernel, by type; and of all together."""
    by_type, model, real = defaultdict(list), 0.0, 0.0
    for path in sorted(folder.glob("*/*/kernel_details.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row["Type"] in UNTOLD:
                    continue
                ns, took = _model_ns(row), float(row["Duration(us)"]) * 1000
                by_type[row["Type"]].append(ns / took)
                model, real = model + ns, real + took
    return by_type, model / real


def test_kernels_take_as_long_as_real_ones() -> None:
    """Median by type: matrix units within 0.8 to 1.25, vector units 0.6 to 1.6; all together 0.85 to 1.15."""
    by_type, whole = ratios(recording("ascend_pt_text_level1"))
    print(
        f"all {whole:.2f}",
        *(
            f"{kind} {median(r):.2f} ({min(r):.2f} to {max(r):.2f}, n = {len(r)})"
            for kind, r in sorted(by_type.items())
        ),
        sep="\n",
    )
    for kind, found in by_type.items():
        low, high = (0.8, 1.25) if kind.startswith(("Conv", "MatMul")) else (0.6, 1.6)
        assert low <= median(found) <= high, (kind, median(found))
    assert 0.85 <= whole <= 1.15
