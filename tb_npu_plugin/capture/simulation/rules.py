"""What each ATen or npu operator becomes on the device, and which operators run nothing there.

An operator that is neither here nor a view becomes one vector kernel of its own name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True)
class Rule:
    """How an operator runs. kind: method of KernelFactory; api, l0, type: as in kernel names; passes: vector operations
    per element; fresh: its first input has just been written (not tables and parameters); filled: its first tensor is
    only written."""

    kind: str
    api: str
    l0: str
    type: str
    core: str = "AI_VECTOR_CORE"
    passes: float = 1.0
    fresh: bool = True
    filled: bool = False


def vector(api: str, type_: str, passes: float = 1.0, l0: str = "", core: str = "AI_VECTOR_CORE") -> Rule:
    """Of the vector units: walks over its inputs."""
    return Rule("elementwise", api, l0 or f"{type_}AiCore", type_, core, passes)


def _reduce(api: str, type_: str) -> Rule:
    return Rule("reduction", api, f"{type_}OpAiCore", type_, "MIX_AIV")


def _fill(api: str, type_: str) -> Rule:
    return Rule("elementwise", api, f"{type_}AiCore", type_, filled=True)


def _update(api: str, type_: str, passes: float) -> Rule:
    """Of parameters and states of the optimizer."""
    return Rule("elementwise", api, api[5:], type_, passes=passes, fresh=False)


def _matmul(api: str, l0: str, type_: str) -> Rule:
    return Rule("matmul", api, l0, type_, "AI_CORE")


#: Operators of one vector kernel: name -> its type. The API is aclnn and the name.
_VECTOR = {
    "abs": "Abs",
    "neg": "Neg",
    "exp": "Exp",
    "log": "Log",
    "log1p": "Log1p",
    "log2": "Log",
    "sqrt": "Sqrt",
    "rsqrt": "Rsqrt",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "expm1": "Expm1",
    "tanh": "Tanh",
    "erf": "Erf",
    "sigmoid": "Sigmoid",
    "reciprocal": "Reciprocal",
    "floor": "Floor",
    "ceil": "Ceil",
    "round": "Round",
    "trunc": "Trunc",
    "sign": "Sign",
    "sub": "Sub",
    "rsub": "Sub",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "fmod": "Mod",
    "remainder": "FloorMod",
    "floor_divide": "FloorDiv",
    "atan2": "Atan2",
    "eq": "Equal",
    "ne": "NotEqual",
    "lt": "Less",
    "le": "LessEqual",
    "gt": "Greater",
    "ge": "GreaterEqual",
    "logical_and": "LogicalAnd",
    "logical_or": "LogicalOr",
    "logical_not": "LogicalNot",
    "logical_xor": "LogicalXor",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_not": "Invert",
    "isfinite": "IsFinite",
    "isinf": "IsInf",
    "isnan": "NotEqual",
    "isneginf": "IsNegInf",
    "isposinf": "IsPosInf",
    "nan_to_num": "NanToNum",
    "where": "SelectV2",
    "masked_fill": "MaskedFill",
    "clamp": "ClipByValueV2",
    "clamp_min": "Maximum",
    "clamp_max": "Minimum",
    "lerp": "Lerp",
    "addcmul": "Addcmul",
    "addcdiv": "Addcdiv",
    "pow": "Pow",
    "silu": "Swish",
    "silu_backward": "SwishGrad",
    "leaky_relu": "LeakyRelu",
    "leaky_relu_backward": "LeakyReluGrad",
    "elu": "EluV2",
    "elu_backward": "EluGradV2",
    "log_sigmoid_forward": "LogSigmoid",
    "softplus": "SoftplusV2",
    "softplus_backward": "SoftplusV2Grad",
    "hardtanh": "HardtanhGrad",
    "hardswish": "HardSwish",
    "hardsigmoid": "HardSigmoid",
    "mish": "Mish",
    "tanh_backward": "TanhGrad",
    "sigmoid_backward": "SigmoidGrad",
    "cat": "ConcatD",
    "stack": "Pack",
    "index": "Index",
    "index_put": "IndexPutV2",
    "_index_put_impl": "IndexPutV2",
    "index_add": "InplaceIndexAddWithSorted",
    "gather": "GatherElementsV2",
    "scatter": "ScatterElementsV2",
    "scatter_add": "ScatterElementsV2",
    "masked_select": "MaskedSelect",
    "sort": "Sort",
    "argsort": "Sort",
    "cumsum": "Cumsum",
    "cumprod": "Cumprod",
    "searchsorted": "SearchSorted",
    "eye": "Eye",
    "dot": "Dot",
    "tril": "Tril",
    "triu": "Triu",
    "arange": "Range",
    "linspace": "LinSpaceD",
    "one_hot": "OneHot",
    "flip": "ReverseV2",
    "roll": "Roll",
    "repeat": "Tile",
    "constant_pad_nd": "PadV3",
    "randperm": "StatelessRandperm",
    "upsample_nearest2d": "ResizeNearestNeighborV2",
    "upsample_nearest2d_backward": "ResizeNearestNeighborV2Grad",
    "upsample_bilinear2d": "ResizeBilinearV2",
    "upsample_bilinear2d_backward": "ResizeBilinearV2Grad",
    "grid_sampler_2d": "GridSample",
    "avg_pool2d": "AvgPoolV2",
    "avg_pool2d_backward": "AvgPoolV2Grad",
    "_adaptive_avg_pool2d": "AdaptiveAvgPool3d",
    "_adaptive_avg_pool2d_backward": "AdaptiveAvgPool3dGrad",
    "mse_loss": "MseLoss",
    "mse_loss_backward": "MseLossGrad",
    "smooth_l1_loss": "SmoothL1LossV2",
    "smooth_l1_loss_backward": "SmoothL1LossGradV2",
    "binary_cross_entropy": "BinaryCrossEntropy",
    "binary_cross_entropy_backward": "BinaryCrossEntropyGrad",
    "binary_cross_entropy_with_logits": "SigmoidCrossEntropyWithLogitsV2",
    "native_group_norm": "GroupNorm",
    "native_group_norm_backward": "GroupNormGrad",
    "bincount": "Bincount",
    "ones_like": "OnesLike",
}
_REDUCTIONS = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "prod": "ReduceProd",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "max_dim": "ArgMaxWithValue",
    "min_dim": "ArgMinWithValue",
    "any": "ReduceAny",
    "all": "ReduceAll",
    "argmax": "ArgMaxV2",
    "argmin": "ArgMin",
    "norm": "LpNormV2",
    "linalg_vector_norm": "LpNormV2",
    "var": "ReduceVar",
    "std": "ReduceStdV2",
    "logsumexp": "ReduceLogSumExp",
}


def _title(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


RULES: dict[str, Rule] = {
    **{f"aten::{name}": vector(f"aclnn{_title(name)}", type_) for name, type_ in _VECTOR.items()},
    **{f"aten::{name}": _reduce(f"aclnn{_title(name)}", type_) for name, type_ in _REDUCTIONS.items()},
    "aten::mm": _matmul("aclnnMm", "MatMulV3Common", "MatMulV3"),
    "aten::matmul": _matmul("aclnnMatmul", "MatMulV3Common", "MatMulV3"),
    "aten::addmm": _matmul("aclnnAddmm", "MatMulCommon", "MatMulV2"),
    "aten::bmm": _matmul("aclnnBatchMatMul", "BatchMatMulNd", "BatchMatMulV2"),
    "aten::baddbmm": _matmul("aclnnBaddbmm", "BatchMatMulNd", "BatchMatMulV2"),
    "aten::convolution": Rule("conv", "aclopCompileAndExecute", "", "Conv2D", "AI_CORE"),
    "aten::convolution_backward": Rule("conv_grad", "aclopCompileAndExecute", "", "Conv2DBackprop", "AI_CORE"),
    "npu::npu_fusion_attention": Rule(
        "attention", "aclnnFlashAttentionScore", "FlashAttentionScore", "FlashAttentionScore", "MIX_AIC", 4
    ),
    "npu::npu_fusion_attention_grad": Rule(
        "attention", "aclnnFlashAttentionScoreGrad", "FlashAttentionScoreGrad", "FlashAttentionScoreGrad", "MIX_AIC", 10
    ),
    "npu::npu_grouped_matmul": _matmul("aclnnGroupedMatmulV4", "GroupedMatmul", "GroupedMatmul"),
    "aten::embedding": Rule("gather", "aclnnEmbedding", "GatherV2AiCore", "GatherV2"),
    "aten::index_select": Rule("gather", "aclnnIndexSelect", "GatherV2AiCore", "GatherV2"),
    "aten::embedding_dense_backward": Rule(
        "gather", "aclnnEmbeddingDenseBackward", "EmbeddingDenseGradV2", "EmbeddingDenseGradV2", passes=3
    ),
    "aten::native_dropout": Rule("dropout", "aclnnDropoutGenMaskV2", "DSAGenBitMask", "DSAGenBitMask", "DSA_SQE"),
    "aten::_fused_dropout": Rule("dropout", "aclnnDropoutGenMaskV2", "DSAGenBitMask", "DSAGenBitMask", "DSA_SQE"),
    "npu::npu_dropout_backward": vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore"),
    "aten::native_dropout_backward": vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore"),
    "npu::npu_rms_norm": vector("aclnnRmsNorm", "RmsNorm", 5, "RmsNorm"),
    "npu::npu_rms_norm_backward": vector("aclnnRmsNormGrad", "RmsNormGrad", 9, "RmsNormGrad"),
    "npu::npu_add_rms_norm": vector("aclnnAddRmsNorm", "AddRmsNorm", 6, "AddRmsNorm"),
    "aten::native_layer_norm": vector("aclnnLayerNorm", "LayerNormV3", 6, "LayerNormV3WithImplMode"),
    "aten::native_layer_norm_backward": vector("aclnnLayerNormBackward", "LayerNormGradV3", 10, "LayerNormGradV3"),
    "npu::npu_rotary_mul": vector(
        "aclnnRotaryPositionEmbedding", "RotaryPositionEmbedding", 3, "RotaryPositionEmbedding"
    ),
    "npu::npu_rotary_mul_backward": vector(
        "aclnnRotaryPositionEmbeddingGrad", "RotaryPositionEmbeddingGrad", 6, "RotaryPositionEmbeddingGrad"
    ),
    "npu::npu_swiglu": vector("aclnnSwiGlu", "SwiGlu", 6, "SwiGlu"),
    "npu::npu_swiglu_backward": vector("aclnnSwiGluGrad", "SwiGluGrad", 9, "SwiGluGrad"),
    "aten::gelu": vector("aclnnGelu", "Gelu", 8, "Gelu"),
    "aten::gelu_backward": vector("aclnnGeluBackward", "GeluGrad", 12, "GeluGrad"),
    "aten::relu": vector("aclnnRelu", "Relu", 1, "Relu"),
    "aten::threshold_backward": vector("aclnnThresholdBackward", "ReluGrad", 1, "ReluGrad"),
    "aten::_softmax": vector("aclnnSoftmax", "SoftmaxV2", 6, "SoftmaxV2"),
    "aten::_softmax_backward_data": vector("aclnnSoftmaxBackward", "SoftmaxGrad", 6, "SoftmaxGrad"),
    "aten::add": vector("aclnnAdd", "Add"),
    "aten::mul": vector("aclnnMul", "Mul"),
    "aten::div": vector("aclnnDivs", "RealDiv", 2),
    "aten::zero_": _fill("aclnnInplaceZero", "ZerosLike"),
    "aten::zeros": _fill("aclnnInplaceZero", "ZerosLike"),
    "aten::fill_": _fill("aclnnInplaceFillScalar", "Fill"),
    "aten::full": _fill("aclnnInplaceFillScalar", "Fill"),
    "aten::normal_": _fill("aclnnInplaceNormal", "DSARandomNormal"),
    "aten::uniform_": _fill("aclnnInplaceUniform", "DSARandomUniform"),
    "aten::bernoulli_": _fill("aclnnInplaceBernoulli", "StatelessBernoulli"),
    "aten::_to_copy": vector("aclnnCast", "Cast"),
    "aten::copy_": _fill("aclnnInplaceCopy", "TensorMove"),
    "aten::clone": vector("aclnnInplaceCopy", "TensorMove"),
    "aten::native_batch_norm": vector("aclnnBatchNorm", "BNTrainingUpdate", 5, "BNTrainingUpdate"),
    "aten::native_batch_norm_backward": vector(
        "aclnnBatchNormBackward", "BNTrainingReduceGrad", 8, "BNTrainingReduceGrad"
    ),
    "aten::max_pool2d_with_indices": vector("aclnnMaxPool2dWithMask", "MaxPoolWithArgmaxV1", 9),
    "aten::max_pool2d_with_indices_backward": vector("aclnnMaxPool2dWithMaskBackward", "MaxPoolGradWithArgmaxV1", 9),
    "aten::_log_softmax": vector("aclnnLogSoftmax", "LogSoftmaxV2", 6),
    "aten::_log_softmax_backward_data": vector("aclnnLogSoftmaxBackward", "LogSoftmaxGrad", 6, "LogSoftmaxGrad"),
    "aten::nll_loss_forward": Rule("reduction", "aclnnNLLLoss", "NLLLossAiCore", "NLLLoss", "MIX_AIV"),
    "aten::nll_loss_backward": vector("aclnnNLLLossBackward", "NLLLossGrad", 1),
    "npu::npu_apply_adam_w": Rule("adam", "aclnnApplyAdamWV2", "ApplyAdamWV2", "ApplyAdamWV2", passes=12, fresh=False),
    "aten::_foreach_add_": _update("aclnnForeachAddListV2", "ForeachAddList", 2),
    "aten::_foreach_mul_": _update("aclnnForeachMulScalarV2", "ForeachMulScalar", 1),
    "aten::_foreach_lerp_": _update("aclnnForeachLerpScalar", "ForeachLerpScalar", 2),
    "aten::_foreach_addcmul_": _update("aclnnForeachAddcmulScalarV2", "ForeachAddcmulScalar", 3),
    "aten::_foreach_addcdiv_": _update("aclnnForeachAddcdivScalarV2", "ForeachAddcdivScalar", 3),
    "aten::_foreach_sqrt": _update("aclnnForeachSqrt", "ForeachSqrt", 2),
    "aten::_foreach_div_": _update("aclnnForeachDivScalarV2", "ForeachDivScalar", 2),
    "aten::_foreach_norm": _update("aclnnForeachNorm", "ForeachNorm", 2),
    "aten::topk": vector("aclnnTopk", "TopKV2", 12, "TopkV2", "MIX_AIV"),
    "aten::nonzero": vector("aclnnNonzero", "NonZero", 1, "NonZeroAiCpu", "AI_CPU"),
}
#: Operators that only make another view of their input.
VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "view",
        "_unsafe_view",
        "reshape",
        "_reshape_alias",
        "t",
        "transpose",
        "permute",
        "expand",
        "as_strided",
        "slice",
        "select",
        "squeeze",
        "unsqueeze",
        "detach",
        "alias",
        "split",
        "chunk",
        "narrow",
        "unbind",
        "empty",
        "empty_strided",
        "empty_like",
        "resize_",
        "set_",
        "item",
        "_local_scalar_dense",
        "numel",
        "size",
        "flatten",
    )
)
#: Begin of the names of operators of lists of tensors, and vector operations per element where they are not two.
EACH = "aten::_foreach_"
_EACH_PASSES = {"mul": 1, "addcmul": 3, "addcdiv": 3}


def has_rule(op: str) -> bool:
    """The operator, or its form that is not in place, is listed, or makes a view, or is one of lists of tensors."""
    return op in RULES or op in VIEWS or op.startswith(EACH) or (op.endswith("_") and op[:-1] in RULES)


@cache
def rule_of(op: str) -> Rule | None:
    """The rule of an operator, without its overload; None: it only makes a view. An operator in place has the rule of the
    other one, and its own API."""
    if op in VIEWS:
        return None
    if op in RULES:
        return RULES[op]
    name = op.partition("::")[2]
    if name.endswith("_") and op[:-1] in RULES:
        rule = RULES[op[:-1]]
        return replace(rule, api=rule.api.replace("aclnn", "aclnnInplace", 1))
    title = _title(name.strip("_"))
    if op.startswith(EACH):
        return _update(f"aclnn{title}", title, _EACH_PASSES.get(name.split("_")[2], 2))
    return vector(f"aclnn{title}", title)
