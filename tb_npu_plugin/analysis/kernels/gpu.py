"""Type of a GPU kernel, by its name. The first matching rule applies."""

from __future__ import annotations

import re

import numpy as np

from tb_npu_plugin.tables import StringColumn

#: Type and pattern, looked for in the function's own name: namespaces and template arguments name what it is used with
#: (`fbgemm_gpu::permute_…` multiplies nothing). The types are named so that analysis.operator_classes files them with the
#: operators of an NPU that do the same.
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("ConvBackward", r"dgrad|wgrad|conv\w*(backward|bprop|_bwd|_grad)|igemm_(bwd|wrw)|[shi]cudnn_\w*stridedB"),
        ("Attention", r"flash|fmha|attention|rotary|rope|(decode|prefill)with\w*kv"),
        ("ConvForward", r"fprop|igemm_fwd|implicit_?(gemm|convolve)|conv(?!ert)|winograd|[shi]cudnn_"),
        ("Embedding", r"embedding"),
        ("ApplyOptimizer", r"multi_tensor_apply|adam|adagrad|sgd|momentum|foreach"),
        (
            "MatMul",
            r"(?<!fb)gemm|gemv|cutlass|nvjet|cijk_|_xmma_|splitk|mat_?mul|(^|_)(add|b)?mm(_|$)|marlin|(^|_)moe_kernel",
        ),
        ("Norm", r"norm|(^|_)(bn|ln)_|gammabeta|rowwisemoments"),
        ("Softmax", r"softmax"),
        ("Transpose", r"nchwtonhwc|nhwctonchw|transpose|permute"),
        ("Concat", r"(^|_)cat(_|$)|catarray|concat|splitwithsizes|chunk_cat"),
        ("Sort", r"sort|topk|radix"),
        ("Index", r"index(?!_elementwise)|gather|scatter|take_along"),
        ("Pad", r"(^|_)(constant_)?pad"),
        ("Fill", r"fill(functor|_|$)|memset|arange"),
        ("Cast", r"copy_kernel|direct_copy|bfloat16_copy|float16_copy|loadwithcast|(^|_)copy(_|$)"),
        ("Random", r"distribution_|philox|rand|dropout|bernoulli"),
        ("Pooling", r"pool"),
        ("Reduce", r"reduce|(^|_)(sum|mean|argmax|argmin)(_|$)|scan(_|kernel|$)"),
        ("Elementwise", r"elementwise|triton_poi|pointwise"),
    )
)
#: Functions that run their template arguments.
_WRAPPER = re.compile(
    r"kernel2?|device_kernel|kentry|elementwise_kernel\w*|\w+_elementwise_kernel\w*|_kernel_agent", re.IGNORECASE
)
#: Kernels fused by Inductor: of the operators in such a name, element-wise operations and reductions count. Products
#: and convolutions ran in separate kernels, and fused copies take no time of note.
_FUSED = re.compile(r"triton_(?P<kind>poi|red|per)_fused_(?P<operators>\w+?)(_\d+)?")
_NOT_FUSED = re.compile(
    r"(^|_)(to_copy|clone|view|permute|transpose|(add|badd|b)?mm|convolution(_backward)?"
    r"|scaled_dot_product(_\w+?)?_attention(_backward)?)(?=_|$)"
)
_WORD = re.compile(r"[A-Za-z_]\w*(?!\w|\s*::)")
_NAMED = re.compile(r"\(anonymous namespace\)::|\{lambda[^{}]*\}(::)?")


def type_of(name: str) -> str | None:
    """Type of one kernel; None if its name does not contain it."""
    own, rest = split_function_name(name)
    if fused := _FUSED.fullmatch(own):
        return _type_of_fused(fused["kind"], fused["operators"])
    found = _type(own)
    if _WRAPPER.fullmatch(own):
        inner = (_type(word) for word in _WORD.findall(rest))
        return next((kind for kind in inner if kind not in (None, "Elementwise")), found)
    return found


def _type_of_fused(kind: str, operators: str) -> str | None:
    """Type of a fused kernel."""
    left = _NOT_FUSED.sub("", operators).strip("_")
    found = _type(left or operators)
    if found in (None, "Reduce", "Elementwise") and left:
        return "Elementwise" if kind == "poi" else "Reduce"
    return found


def _type(word: str) -> str | None:
    return next((kind for kind, pattern in RULES if pattern.search(word)), None)


def split_function_name(name: str) -> tuple[str, str]:
    """The function name without namespaces and return type, and its template arguments.

    "void at::native::reduce_kernel<512, F>(F)" gives "reduce_kernel" and "512, F".
    """
    if name.startswith("_Z"):
        return _split_mangled(name)
    text = _NAMED.sub("", name)
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        if letter == "<":
            if depth == 0:
                end = _closing_bracket(text, at)
                if text[end + 1 : end + 3] != "::":  # otherwise an enclosing class
                    return text[begin:at], text[at + 1 : end]
            depth += 1
        elif letter == ">":
            depth -= 1
        elif depth == 0 and letter == "(":
            return text[begin:at], ""
        elif depth == 0 and letter in " :":
            begin = at + 1
    return text[begin:], ""


def _closing_bracket(text: str, opening: int) -> int:
    """Index of the bracket that closes the one at `opening`; the end of the text without one."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] != "-")
        if depth == 0:
            return at
    return len(text)


def _split_mangled(name: str) -> tuple[str, str]:
    """The same for a mangled name: _ZN2at6native13reduce_kernelILi512E..."""
    at, own = len(re.match(r"_ZN?K?", name)[0]), name  # type: ignore[index]
    while found := re.compile(r"\d+").match(name, at):
        begin = found.end()
        at = begin + int(found[0][:6])
        own = name[begin:at]
    return own, " ".join(word for word in re.findall(r"\d([A-Za-z_]\w*?)(?=\d|E|I|$)", name[at:]))


def types(names: StringColumn) -> StringColumn:
    """Type of each kernel."""
    kinds: dict[str, int] = {}
    lookup = []
    for name in names.values:
        kind = type_of(name)
        lookup.append(-1 if kind is None else kinds.setdefault(kind, len(kinds)))
    return StringColumn(np.asarray([*lookup, -1], dtype=np.int32)[names.codes], list(kinds))
