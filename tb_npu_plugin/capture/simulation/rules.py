"""What each ATen or npu operator becomes on the device, and which operators run nothing there: the table operators.csv.

A row of kind "same" names the operator with the same kernels as its API. An operator that is not in the table becomes one
vector kernel with the operator's name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tb_npu_plugin.capture.simulation.csv_tables import read_table


@dataclass(frozen=True)
class Rule:
    """How an operator runs: a row of the table. kind: method of KernelFactory, "view": only another view of the input; api,
    l0, type: as in kernel names; passes: vector operations per element; fresh: its first input has just been written (not
    tables and parameters); filled: its first tensor is only written."""

    kind: str
    api: str
    l0: str
    type: str
    core: str = "AI_VECTOR_CORE"
    passes: float = 1.0
    fresh: bool = True
    filled: bool = False


def vector(api: str, type_: str, passes: float = 1.0, l0: str = "") -> Rule:
    """Of the vector units: walks over its inputs."""
    return Rule("elementwise", api, l0 or f"{type_}AiCore", type_, passes=passes)


_ROWS = read_table(Path(__file__).with_name("operators.csv"))
#: Operators of PyTorch -> those with the same kernels.
SAME = {row["operator"]: row["api"] for row in _ROWS if row["kind"] == "same"}
RULES = {
    op: Rule(kind, api, l0, type_, core, float(passes or 0), fresh == "yes", filled == "yes")
    for op, kind, api, l0, type_, core, passes, fresh, filled in map(dict.values, _ROWS)
    if kind != "same"
}
#: Begin of the names of operators of lists of tensors, and vector operations per element where they are not two.
EACH = "aten::_foreach_"
_EACH_PASSES = {"mul": 1, "addcmul": 3, "addcdiv": 3}


def has_rule(op: str) -> bool:
    """The operator, or its form that is not in place, is listed, or it is one of lists of tensors."""
    return op in RULES or op.startswith(EACH) or _out_of_place(op) is not None


def _out_of_place(op: str) -> Rule | None:
    """The rule of the operator that is not in place."""
    found = RULES.get(op[:-1]) if op.endswith("_") else None
    return found if found is not None and found.kind != "view" else None


@cache
def rule_of(op: str) -> Rule | None:
    """The rule of an operator, without its overload; None: it only makes a view. An operator in place has the rule of the
    other one, and its own API."""
    if op in RULES:
        return RULES[op] if RULES[op].kind != "view" else None
    other = _out_of_place(op)
    if other is not None:
        return replace(other, api=other.api.replace("aclnn", "aclnnInplace", 1))
    name = op.partition("::")[2]
    title = "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))
    if op.startswith(EACH):
        passes = _EACH_PASSES.get(name.split("_")[2], 2)
        return Rule("elementwise", f"aclnn{title}", title, title, passes=passes, fresh=False)
    return vector(f"aclnn{title}", title)
