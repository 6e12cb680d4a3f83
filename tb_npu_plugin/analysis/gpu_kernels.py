"""What a kernel of a GPU computes, by its name. The rules are data; the first that matches decides."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.tables import Text

#: Type and pattern, looked for in the name. The types are named so that analysis.operator_classes files them with the
#: operators of an NPU that do the same.
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("ConvBackward", r"dgrad|wgrad|conv\w*(backward|bprop|_bwd)"),
        ("Attention", r"flash|fmha|attention|rotary|rope"),
        ("ConvForward", r"fprop|implicit_?(gemm|convolve)|conv(?!ert)|winograd"),
        ("ApplyOptimizer", r"multi_tensor_apply|adam|sgd|momentum|foreach"),
        ("MatMul", r"gemm|gemv|cutlass|nvjet|cijk_|_xmma_|splitk|mat_?mul"),
        ("Norm", r"norm|(^|\W|_)bn_|batchnorm"),
        ("Softmax", r"softmax"),
        ("Transpose", r"nchwtonhwc|nhwctonchw|transpose|permute"),
        ("Concat", r"catarray|concat|splitwithsizes|chunk_cat"),
        ("Index", r"index|gather|scatter|embedding|take_along"),
        ("Pad", r"(^|\W|_)(constant_)?pad"),
        ("Fill", r"fill(functor|_)|memset|arange"),
        ("Cast", r"copy_kernel|direct_copy|bfloat16_copy|float16_copy|loadwithcast|\bcopy_"),
        ("Random", r"distribution_|philox|rand|dropout|bernoulli"),
        ("Pooling", r"pool"),
        ("Sort", r"sort|topk|radix"),
        ("Reduce", r"reduce|(^|\W|_)(sum|mean|argmax|argmin)(\W|_|$)|scan_"),
        ("Elementwise", r"elementwise|triton_poi|pointwise"),
    )
)


def type_of(name: str) -> str | None:
    """Type of one kernel; None where its name does not tell."""
    return next((kind for kind, pattern in RULES if pattern.search(name)), None)


def types(names: Text) -> Text:
    """Type of each kernel."""
    kinds: dict[str, int] = {}
    lookup = []
    for name in names.values:
        kind = type_of(name)
        lookup.append(-1 if kind is None else kinds.setdefault(kind, len(kinds)))
    return Text(np.asarray([*lookup, -1], dtype=np.int32)[names.codes], list(kinds))
