"""Names of MindSpore -> those that the simulation knows."""

from __future__ import annotations

import csv
from pathlib import Path

#: Types of elements, in lower case -> C++ names.
TYPES = {
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float64": "double",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "bool": "bool",
    "uint8": "unsigned char",
}
#: The group of all processes; its other names: of the CPU, and where MindSpore says none.
WORLD = "hccl_world_group"
WORLDS = (WORLD, "mccl_world_group", "")
#: Operators -> the ATen operator with the same kernels on an NPU (simulation/rules.py). Any other is one kernel of its own name.
with Path(__file__).with_name("operators.csv").open(encoding="utf-8", newline="") as _file:
    OPERATORS = {row["operator"]: row["aten"] for row in csv.DictReader(_file)}
