"""From an operator with its shapes to the kernels that the device runs for it: names, types, cores, blocks, formats.

The names follow real profiles: `aclnn<Api>_<L0 operator>_<Type>` for the operators of the aclnn library, `<Type><n>` and
`trans_TransData_<n>` for those that CANN compiles as graphs. The table says what each ATen operator becomes; what is not
in it and is no view becomes one element-wise kernel of its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tb_npu_plugin.capture.simulation.chips import Chip
from tb_npu_plugin.capture.simulation.cost import in_cache, kernel_ns, unit_times
from tb_npu_plugin.capture.simulation.records import Kernel
from tb_npu_plugin.capture.simulation.work import Work

Shape = tuple[int, ...]
#: C++ names of element types as PyTorch records them -> (CANN name, bytes).
TYPES = {
    "c10::Half": ("FLOAT16", 2), "c10::BFloat16": ("DT_BF16", 2), "float": ("FLOAT", 4), "double": ("DOUBLE", 8),
    "long int": ("INT64", 8), "long": ("INT64", 8), "int": ("INT32", 4), "short int": ("INT16", 2),
    "signed char": ("INT8", 1), "unsigned char": ("UINT8", 1), "bool": ("BOOL", 1),
}  # fmt: skip
_HARDWARE = {"AI_VECTOR_CORE": "AI_CORE"}


@dataclass(frozen=True)
class Launch:
    """One launch of an operator: the kernel, its mean duration in ns, the API that launches it.

    compiled    CANN compiles it on first sight (aclop), which takes long
    workspace   bytes of workspace that it needs
    """

    kernel: Kernel
    ns: int
    api: str
    compiled: bool = False
    workspace: int = 0

    @property
    def is_graph(self) -> bool:
        """CANN runs it as a graph of its own (aclop), not as an operator of the aclnn library."""
        return self.api.startswith("aclop")

    @property
    def queued(self) -> str:
        """Name of its element of the task queue."""
        return self.kernel.type if self.is_graph else self.api

    @property
    def prepared(self) -> tuple[str, str]:
        """The API that prepares it, and its mode."""
        return ("aclCreateTensorDesc", "ACL_OP") if self.is_graph else (f"{self.api}GetWorkspaceSize", "ACL_NN")


@dataclass(frozen=True)
class Rule:
    """How an operator runs. l0, type: as in kernel names; passes: vector operations per element; fresh: its first input
    has just been written (not tables and parameters); filled: its first tensor is only written."""

    kind: str
    api: str
    l0: str
    type: str
    core: str = "AI_VECTOR_CORE"
    passes: float = 1.0
    fresh: bool = True
    filled: bool = False


def _vector(api: str, type_: str, passes: float = 1.0, l0: str = "", core: str = "AI_VECTOR_CORE") -> Rule:
    return Rule("elementwise", api, l0 or f"{type_}AiCore", type_, core, passes)


def _fill(api: str, type_: str) -> Rule:
    return Rule("elementwise", api, f"{type_}AiCore", type_, filled=True)


def _update(api: str, type_: str, passes: float) -> Rule:
    """Of parameters and states of the optimizer."""
    return Rule("elementwise", api, api[5:], type_, passes=passes, fresh=False)


RULES: dict[str, Rule] = {
    "aten::mm": Rule("matmul", "aclnnMm", "MatMulV3Common", "MatMulV3", "AI_CORE"),
    "aten::matmul": Rule("matmul", "aclnnMatmul", "MatMulV3Common", "MatMulV3", "AI_CORE"),
    "aten::addmm": Rule("matmul", "aclnnAddmm", "MatMulCommon", "MatMulV2", "AI_CORE"),
    "aten::bmm": Rule("matmul", "aclnnBatchMatMul", "BatchMatMulNd", "BatchMatMulV2", "AI_CORE"),
    "aten::convolution": Rule("conv", "aclopCompileAndExecute", "", "Conv2D", "AI_CORE"),
    "aten::convolution_backward": Rule("conv_grad", "aclopCompileAndExecute", "", "Conv2DBackprop", "AI_CORE"),
    "npu::npu_fusion_attention": Rule(
        "attention", "aclnnFlashAttentionScore", "FlashAttentionScore", "FlashAttentionScore", "MIX_AIC", 4),
    "npu::npu_fusion_attention_grad": Rule(
        "attention", "aclnnFlashAttentionScoreGrad", "FlashAttentionScoreGrad", "FlashAttentionScoreGrad", "MIX_AIC", 10),
    "aten::embedding": Rule("gather", "aclnnEmbedding", "GatherV2AiCore", "GatherV2"),
    "aten::embedding_dense_backward": Rule(
        "gather", "aclnnEmbeddingDenseBackward", "EmbeddingDenseGradV2", "EmbeddingDenseGradV2", passes=3),
    "aten::_fused_dropout": Rule("dropout", "aclnnDropoutGenMaskV2", "DSAGenBitMask", "DSAGenBitMask", "DSA_SQE"),
    "npu::npu_dropout_backward": _vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore"),
    "npu::npu_rms_norm": _vector("aclnnRmsNorm", "RmsNorm", 5, "RmsNorm"),
    "npu::npu_rms_norm_backward": _vector("aclnnRmsNormGrad", "RmsNormGrad", 9, "RmsNormGrad"),
    "aten::native_layer_norm": _vector("aclnnLayerNorm", "LayerNormV3", 6, "LayerNormV3WithImplMode"),
    "aten::native_layer_norm_backward": _vector("aclnnLayerNormBackward", "LayerNormGradV3", 10, "LayerNormGradV3"),
    "npu::npu_rotary_mul": _vector("aclnnRotaryPositionEmbedding", "RotaryPositionEmbedding", 3,
                                   "RotaryPositionEmbedding"),
    "npu::npu_swiglu": _vector("aclnnSwiGlu", "SwiGlu", 6, "SwiGlu"),
    "npu::npu_swiglu_backward": _vector("aclnnSwiGluGrad", "SwiGluGrad", 9, "SwiGluGrad"),
    "aten::gelu": _vector("aclnnGelu", "Gelu", 8, "Gelu"),
    "aten::gelu_backward": _vector("aclnnGeluBackward", "GeluGrad", 12, "GeluGrad"),
    "aten::relu_": _vector("aclnnInplaceRelu", "Relu", 1, "Relu"),
    "aten::relu": _vector("aclnnRelu", "Relu", 1, "Relu"),
    "aten::threshold_backward": _vector("aclnnThresholdBackward", "ReluGrad", 1, "ReluGrad"),
    "aten::add": _vector("aclnnAdd", "Add"),
    "aten::add_": _vector("aclnnInplaceAdd", "Add"),
    "aten::mul": _vector("aclnnMul", "Mul"),
    "aten::div": _vector("aclnnDivs", "RealDiv", 2),
    "aten::mul_": _vector("aclnnInplaceMuls", "Mul"),
    "aten::zero_": _fill("aclnnInplaceZero", "ZerosLike"),
    "aten::fill_": _fill("aclnnInplaceFillScalar", "Fill"),
    "aten::_to_copy": _vector("aclnnCast", "Cast"),
    "aten::copy_": _fill("aclnnInplaceCopy", "TensorMove"),
    "aten::sum": _vector("aclnnReduceSum", "ReduceSum", 1, "ReduceSumOpAiCore", "MIX_AIV"),
    "aten::native_batch_norm": _vector("aclnnBatchNorm", "BNTrainingUpdate", 5, "BNTrainingUpdate"),
    "aten::native_batch_norm_backward": _vector("aclnnBatchNormBackward", "BNTrainingReduceGrad", 8,
                                                "BNTrainingReduceGrad"),
    "aten::max_pool2d_with_indices": _vector("aclnnMaxPool2dWithMask", "MaxPoolWithArgmaxV1", 9),
    "aten::max_pool2d_with_indices_backward": _vector("aclnnMaxPool2dWithMaskBackward", "MaxPoolGradWithArgmaxV1", 9),
    "aten::mean": _vector("aclnnMean", "ReduceMean", 1, "ReduceMeanOpAiCore", "MIX_AIV"),
    "aten::_log_softmax": _vector("aclnnLogSoftmax", "LogSoftmaxV2", 6),
    "aten::_log_softmax_backward_data": _vector("aclnnLogSoftmaxBackward", "LogSoftmaxGrad", 6, "LogSoftmaxGrad"),
    "aten::nll_loss_forward": _vector("aclnnNLLLoss", "NLLLoss", 1, "NLLLossAiCore", "MIX_AIV"),
    "aten::nll_loss_backward": _vector("aclnnNLLLossBackward", "NLLLossGrad", 1),
    "npu::npu_apply_adam_w": _update("aclnnApplyAdamWV2", "ApplyAdamWV2", 12),
    "aten::_foreach_add_": _update("aclnnForeachAddListV2", "ForeachAddList", 2),
    "aten::_foreach_mul_": _update("aclnnForeachMulScalarV2", "ForeachMulScalar", 1),
    "aten::_foreach_lerp_": _update("aclnnForeachLerpScalar", "ForeachLerpScalar", 2),
    "aten::_foreach_addcmul_": _update("aclnnForeachAddcmulScalarV2", "ForeachAddcmulScalar", 3),
    "aten::_foreach_addcdiv_": _update("aclnnForeachAddcdivScalarV2", "ForeachAddcdivScalar", 3),
    "aten::_foreach_sqrt": _update("aclnnForeachSqrt", "ForeachSqrt", 2),
    "aten::_foreach_div_": _update("aclnnForeachDivScalarV2", "ForeachDivScalar", 2),
    "aten::topk": _vector("aclnnTopk", "TopKV2", 12, "TopkV2", "MIX_AIV"),
    "aten::nonzero": _vector("aclnnNonzero", "NonZero", 1, "NonZeroAiCpu", "AI_CPU"),
}  # fmt: skip
#: Operators that only make another view of their input.
VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "view", "_unsafe_view", "reshape", "_reshape_alias", "t", "transpose", "permute", "expand", "as_strided",
        "slice", "select", "squeeze", "unsqueeze", "detach", "alias", "split", "chunk", "narrow", "unbind", "empty",
        "empty_strided", "empty_like", "resize_", "set_", "item", "_local_scalar_dense", "numel", "size", "flatten",
    )
)  # fmt: skip


#: Formats of images and of filters in graphs: channels in blocks of 32 bytes, filters in blocks of 16 as well.
_IMAGE, _FILTER = "NC1HWC0", "FRACTAL_Z"
_BLOCK, _FILTERS = 32, 16


def _stored(shape: Shape, format_: str, item: int) -> Shape:
    """How a tensor of four dimensions lies in memory; item: bytes of an element."""
    if format_ not in (_IMAGE, _FILTER):
        return shape
    first, channels, height, width = shape
    block = _BLOCK // item
    blocks = -(-channels // block)
    if format_ == _IMAGE:
        return first, blocks, height, width, block
    return blocks * height * width, -(-first // _FILTERS), _FILTERS, block


def size_of(shape: Shape, type_: str) -> int:
    """Bytes of a tensor."""
    return prod(shape) * TYPES.get(type_, ("", 4))[1]


class KernelFactory:
    """Kernels of one chip, each made once."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self._known: dict[tuple[str, tuple[Shape, ...], tuple[str, ...]], tuple[Launch, ...]] = {}
        self._graph: dict[tuple[str, tuple[Shape, ...]], int] = {}  # numbers in the names of compiled operators
        self._transfers = 0

    def launches(self, op: str, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> tuple[Launch, ...]:
        """What an operator launches; nothing for a view. shapes, types: of its tensors, in order."""
        key = (op, shapes, types)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._make(op, shapes, types))
        return found

    def _make(self, op: str, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        if op in VIEWS or not shapes:
            return []
        rule = RULES.get(op)
        if rule is None:
            title = "".join(part.capitalize() for part in op.partition("::")[2].split("_"))
            rule = _vector(f"aclnn{title}", title)
        made = getattr(self, f"_{rule.kind}")(rule, shapes, types)
        return list(made)

    def _work(
        self, written: int, first: int, others: int = 0, cube_flops: float = 0.0, vector_flops: float = 0.0
    ) -> Work:
        """Bytes that are written, those of the input that was just written, those of the others."""
        cached, kept = in_cache(self.chip, first), in_cache(self.chip, written)
        return Work(cube_flops, vector_flops, first + others, written, cached, kept)

    # -- kinds of operators ------------------------------------------------------------------------
    def _matmul(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """(m, k) by (k, n), as the last two tensors; addmm has the bias in front."""
        left, right = shapes[-2], shapes[-1]
        m, k, n = prod(left[:-1]), left[-1], right[-1]
        batch = prod(right[:-2]) if len(right) > 2 else 1
        m //= batch
        item = TYPES.get(types[-1], ("", 2))[1]
        out = (*left[:-1], n)
        work = self._work(prod(out) * item, prod(left) * item, prod(right) * item, cube_flops=2.0 * batch * m * k * n)
        tiles = batch * -(-m // 128) * -(-n // 256)
        return [self._launch(rule, shapes, types, out, work, min(self.chip.cube_cores, tiles))]

    def _conv(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """(n, c, h, w) by (o, c, kh, kw); the third shape is that of the output. What is no graph comes as NCHW."""
        image, weight, result = shapes[:3]
        type_ = types[0]
        return [
            self._transfer(image, type_, "NCHW", _IMAGE),
            self._transfer(weight, type_, "NCHW", _FILTER),
            self._compiled("Conv2D", shapes, type_, ((image, _IMAGE), (weight, _FILTER)), (result, _IMAGE)),
            self._transfer(result, type_, _IMAGE, "NCHW"),
        ]

    def _conv_grad(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Two graphs: the gradients of the input and of the weight."""
        image, weight, result = shapes[:3]
        type_, size = types[0], ((4,), "NCHW")  # what is asked for is told by its four sizes
        before, after = (result, _IMAGE), (image, _IMAGE)
        return [
            self._transfer(weight, type_, "NCHW", _FILTER),
            self._transfer(result, type_, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropInput", shapes, type_, (size, (weight, _FILTER), before), after),
            self._transfer(image, type_, _IMAGE, "NCHW"),
            self._transfer(image, type_, "NCHW", _IMAGE),
            self._transfer(result, type_, "NCHW", _IMAGE),
            self._compiled("Conv2DBackpropFilter", shapes, type_, (after, size, before), (weight, _FILTER)),
            self._transfer(weight, type_, _FILTER, "NCHW"),
        ]

    def _compiled(
        self, type_: str, shapes: tuple[Shape, ...], element: str, inputs: Sequence[tuple[Shape, str]],
        output: tuple[Shape, str],
    ) -> Launch:  # fmt: skip
        """An operator of a graph. shapes: of the image, the weight and the result; inputs, output: with their formats."""
        number = self._graph.setdefault((type_, shapes), len(self._graph) + 1)
        image, weight, result = shapes[:3]
        flops = 2.0 * prod(result) * weight[1] * weight[2] * weight[3]
        item = TYPES.get(element, ("", 2))[1]
        first, others = (image, (weight, result)) if type_ == "Conv2D" else (result, (weight, image))
        read = sum(map(prod, others)) * item
        work = self._work(prod(output[0]) * item, prod(first) * item, read, flops * 1.3)
        rule = Rule("", "aclopCompileAndExecute", "", type_, "AI_CORE")
        stored = tuple(_stored(shape, format_, item) for shape, format_ in inputs)
        types = tuple("int" if format_ == "NCHW" else element for _, format_ in inputs)
        launch = self._launch(
            rule, stored, types, _stored(*output, item), work, self.chip.cube_cores, f"{type_}{number}",
            ";".join(format_ for _, format_ in inputs), output[1], element,
        )  # fmt: skip
        return Launch(launch.kernel, launch.ns, launch.api, compiled=True)

    def _transfer(self, shape: Shape, type_: str, source: str, target: str) -> Launch:
        """Another format of a tensor: _IMAGE and _FILTER pad it."""
        number, self._transfers = self._transfers, self._transfers + 1
        item = TYPES.get(type_, ("", 2))[1]
        given, made = _stored(shape, source, item), _stored(shape, target, item)
        rule = Rule("", "aclopCompileAndExecute", "", "TransData")
        name = f"trans_TransData_{number}"
        work = self._work(prod(made) * item, prod(given) * item, vector_flops=prod(shape))
        blocks = min(32, self.chip.vector_cores)
        return self._launch(rule, (given,), (type_,), made, work, blocks, name, source, target)

    def _attention(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Query, key and value as (batch, heads, sequence, size of a head); causal: half of the products."""
        batch, heads, length, size = shapes[0]
        factor = rule.passes / 2
        flops = factor * 2.0 * batch * heads * length * length * size
        item = TYPES.get(types[0], ("", 2))[1]
        query = prod(shapes[0]) * item
        moved = int(sum(prod(shape) for shape in shapes) * item * (1 if rule.passes < 5 else 2))
        work = self._work(query, query, moved - query, flops, 6.0 * batch * heads * length * length / 2)
        launch = self._launch(rule, shapes, types, shapes[0], work, self.chip.cube_cores)
        return [Launch(launch.kernel, int(launch.ns * 1.25), launch.api, workspace=32 << 20)]

    def _gather(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Rows of a table, by index."""
        out = (*shapes[1], shapes[0][-1])
        size = size_of(out, types[0])
        work = self._work(size, 0, size, vector_flops=prod(out) * rule.passes)
        return [self._launch(rule, shapes, types, out, work, self.chip.vector_cores)]

    def _dropout(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        bits = (-(-prod(shapes[0]) // 8),)
        mask = self._launch(rule, (), ("unsigned char",), bits, self._work(bits[0], 0), 0)
        apply = _vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore")
        return [mask, *self._elementwise(apply, (shapes[0], bits), (types[0], "unsigned char"))]

    def _elementwise(self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...]) -> list[Launch]:
        """Anything that walks over its inputs; the output is as large as the first one."""
        out = () if rule.type in ("ReduceSum", "ReduceMean", "NLLLoss") else shapes[0]
        read = [size_of(shape, type_) for shape, type_ in zip(shapes, types)][1 if rule.filled else 0 :] or [0]
        first = read[0] if rule.fresh else 0
        flops = prod(shapes[0]) * rule.passes
        work = self._work(size_of(out, types[0]), first, sum(read) - first, vector_flops=flops)
        blocks = min(self.chip.vector_cores, max(1, prod(shapes[0]) // 2048))
        return [self._launch(rule, shapes, types, out, work, 1 if rule.core == "AI_CPU" else blocks)]

    def _launch(
        self, rule: Rule, shapes: tuple[Shape, ...], types: tuple[str, ...], out: Shape, work: Work, block: int,
        name: str = "", formats: str = "", out_format: str = "", element: str = "",
    ) -> Launch:  # fmt: skip
        """element: type of the output, that of the first input without."""
        element = element or (types[0] if types else "")
        fp32 = element == "float"
        core = rule.core if self.chip.split else {"AI_VECTOR_CORE": "AI_CORE", "MIX_AIC": "AI_CORE",
                                                  "MIX_AIV": "AI_CORE"}.get(rule.core, rule.core)  # fmt: skip
        names = [TYPES.get(type_, ("FLOAT", 4))[0] for type_ in types[: len(shapes)]]
        plain = "NCHW" if shapes and len(shapes[0]) == 4 and rule.kind == "elementwise" else "FORMAT_ND"
        kernel = Kernel(
            name or f"{rule.api}_{rule.l0}_{rule.type}", rule.type, core, _HARDWARE.get(core, core),
            inputs=";".join(",".join(map(str, shape)) for shape in shapes),
            outputs=",".join(map(str, out)),
            input_types=";".join(names),
            output_types=TYPES.get(element, ("FLOAT", 4))[0] if element else "",
            input_formats=formats or ";".join([plain] * len(shapes)),
            output_formats=out_format or plain,
            block=block, mix=2 * block if core == "MIX_AIC" else 0, hf32=fp32 and rule.type.startswith("Conv"), work=work,
            pipes=_pipes(self.chip, core, work, fp32),
        )  # fmt: skip
        return Launch(kernel, kernel_ns(self.chip, core, work, fp32), rule.api)


def _pipes(chip: Chip, core: str, work: Work, fp32: bool) -> dict[str, float]:
    """Shares of the core time that each unit is busy: what the counters of the kernel show."""
    if core in ("AI_CPU", "DSA_SQE"):
        return {}
    whole = float(kernel_ns(chip, core, work, fp32))
    cube, vector, read, written = (ns / whole for ns in unit_times(chip, work, fp32))
    return {
        "mac": 0.85 * cube, "vec": 0.6 * vector, "scalar": min(0.85, 0.12 + 0.12 * max(cube, vector) + 500.0 / whole),
        "mte1": min(0.95, cube * 0.95), "mte2": min(0.97, read * 1.2 + 0.05), "mte3": min(0.97, written * 1.3 + 0.02),
        "fixpipe": min(0.9, written + 0.01), "icache": 0.01 + 300.0 / whole,
    }  # fmt: skip
