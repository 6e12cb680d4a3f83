"""Operator class of a kernel, by its core and type. The first matching rule applies."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import IntArray, StringColumn, Table

#: Ids of the classes, in display order. Not classes of kernels: "computing", computing time in a file without known
#: kernels; "waiting" and "bubble", communication that waits for a late rank or for another pipeline stage; "idle", nothing
#: runs.
CLASSES = (
    "conv_forward",
    "conv_backward",
    "matmul",
    "attention",
    "normalisation",
    "optimizer",
    "data_movement",
    "vector",
    "ai_cpu",
    "computing",
    "copying",
    "communication",
    "waiting",
    "bubble",
    "idle",
)

#: Classes that follow from the accelerator core alone.
CORES = {
    **dict.fromkeys(COMMUNICATION_CORES, "communication"),
    **dict.fromkeys((kineto.MEMCPY_KIND, kineto.MEMSET_KIND), "copying"),
    "AI_CPU": "ai_cpu",
}

#: Class and pattern, looked for in the type, or in the kernel's name where no type is known. Examples:
#: conv_backward  Conv2DBackpropFilter          optimizer      ForeachAddList, ApplyAdamW
#: attention      FlashAttentionScore           normalisation  LayerNormGrad, RmsNorm, BNTrainingReduce
#: matmul         MatMulV2, GroupedMatmul       data_movement  TransData, TensorMove, Cast, ConcatD
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("conv_backward", r"conv\w*(backprop|backward|grad)"),
        ("conv_forward", r"conv(?!ert)"),
        ("attention", r"attention|flash|rotary|rope"),
        ("optimizer", r"(^|_)(aclnn)?(foreach|apply)|adam|lamb(next|update|apply)|sgd|momentum"),
        ("matmul", r"mat_?mul|gemm|bmm|fullyconnection"),
        ("normalisation", r"norm|(^|_)bn(training|infer)"),
        (
            "data_movement",
            r"transdata|tensormove|transpose|(^|_)cast|concat|split|slice|memcpy|memset|viewcopy|asstrided"
            r"|broadcast|(^|_)pad|gather|scatter|(^|_)index|(^|_)tile|(^|_)(un)?pack|(^|_)fill|zeroslike|oneslike",
        ),
    )
)
#: Class without a rule: element-wise, reduction, pooling, random numbers.
REST = "vector"


def class_of(label: str, core: str | None) -> str:
    """Class of one kernel. `label`: its type, or the name of an NPU kernel of unknown type."""
    if core in CORES:
        return CORES[core]
    return next((name for name, pattern in RULES if pattern.search(label)), REST)


def classes(kernels: Table) -> IntArray:
    """Index into CLASSES of each kernel."""
    types, names, cores = (kernels.text(key) for key in ("type", "name", "core"))
    by_label = _rule_of(types)[types.codes]
    # The type of a GPU kernel comes from its name; if that gave none, the rest of the name (namespaces, arguments)
    # would mislead.
    unknown = (types.codes < 0) & ~cores.equals(kineto.KERNEL_KIND)
    if unknown.any():
        by_label[unknown] = _rule_of(names)[names.codes[unknown]]
    core_class = [CLASSES.index(CORES[core]) if core in CORES else -1 for core in cores.values] + [-1]
    by_core = np.asarray(core_class, dtype=np.int64)[cores.codes]
    return np.where(by_core >= 0, by_core, by_label)


def _rule_of(labels: StringColumn) -> IntArray:
    """Class of each distinct label; the last entry is for unknown labels."""
    return np.asarray([CLASSES.index(class_of(label, None)) for label in (*labels.values, "")], dtype=np.int64)
