"""What each ATen operator becomes on the device, and which operators run nothing there."""

from __future__ import annotations

from dataclasses import dataclass


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


def vector(api: str, type_: str, passes: float = 1.0, l0: str = "", core: str = "AI_VECTOR_CORE") -> Rule:
    """Of the vector units: walks over its inputs."""
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
        "attention", "aclnnFlashAttentionScore", "FlashAttentionScore", "FlashAttentionScore", "MIX_AIC", 4
    ),
    "npu::npu_fusion_attention_grad": Rule(
        "attention", "aclnnFlashAttentionScoreGrad", "FlashAttentionScoreGrad", "FlashAttentionScoreGrad", "MIX_AIC", 10
    ),
    "aten::embedding": Rule("gather", "aclnnEmbedding", "GatherV2AiCore", "GatherV2"),
    "aten::embedding_dense_backward": Rule(
        "gather", "aclnnEmbeddingDenseBackward", "EmbeddingDenseGradV2", "EmbeddingDenseGradV2", passes=3
    ),
    "aten::_fused_dropout": Rule("dropout", "aclnnDropoutGenMaskV2", "DSAGenBitMask", "DSAGenBitMask", "DSA_SQE"),
    "npu::npu_dropout_backward": vector("aclnnDropoutDoMask", "DropOutDoMask", 2, "DropoutDoMaskAiCore"),
    "npu::npu_rms_norm": vector("aclnnRmsNorm", "RmsNorm", 5, "RmsNorm"),
    "npu::npu_rms_norm_backward": vector("aclnnRmsNormGrad", "RmsNormGrad", 9, "RmsNormGrad"),
    "aten::native_layer_norm": vector("aclnnLayerNorm", "LayerNormV3", 6, "LayerNormV3WithImplMode"),
    "aten::native_layer_norm_backward": vector("aclnnLayerNormBackward", "LayerNormGradV3", 10, "LayerNormGradV3"),
    "npu::npu_rotary_mul": vector(
        "aclnnRotaryPositionEmbedding", "RotaryPositionEmbedding", 3, "RotaryPositionEmbedding"
    ),
    "npu::npu_swiglu": vector("aclnnSwiGlu", "SwiGlu", 6, "SwiGlu"),
    "npu::npu_swiglu_backward": vector("aclnnSwiGluGrad", "SwiGluGrad", 9, "SwiGluGrad"),
    "aten::gelu": vector("aclnnGelu", "Gelu", 8, "Gelu"),
    "aten::gelu_backward": vector("aclnnGeluBackward", "GeluGrad", 12, "GeluGrad"),
    "aten::relu_": vector("aclnnInplaceRelu", "Relu", 1, "Relu"),
    "aten::relu": vector("aclnnRelu", "Relu", 1, "Relu"),
    "aten::threshold_backward": vector("aclnnThresholdBackward", "ReluGrad", 1, "ReluGrad"),
    "aten::add": vector("aclnnAdd", "Add"),
    "aten::add_": vector("aclnnInplaceAdd", "Add"),
    "aten::mul": vector("aclnnMul", "Mul"),
    "aten::div": vector("aclnnDivs", "RealDiv", 2),
    "aten::mul_": vector("aclnnInplaceMuls", "Mul"),
    "aten::zero_": _fill("aclnnInplaceZero", "ZerosLike"),
    "aten::fill_": _fill("aclnnInplaceFillScalar", "Fill"),
    "aten::_to_copy": vector("aclnnCast", "Cast"),
    "aten::copy_": _fill("aclnnInplaceCopy", "TensorMove"),
    "aten::sum": vector("aclnnReduceSum", "ReduceSum", 1, "ReduceSumOpAiCore", "MIX_AIV"),
    "aten::native_batch_norm": vector("aclnnBatchNorm", "BNTrainingUpdate", 5, "BNTrainingUpdate"),
    "aten::native_batch_norm_backward": vector(
        "aclnnBatchNormBackward", "BNTrainingReduceGrad", 8, "BNTrainingReduceGrad"
    ),
    "aten::max_pool2d_with_indices": vector("aclnnMaxPool2dWithMask", "MaxPoolWithArgmaxV1", 9),
    "aten::max_pool2d_with_indices_backward": vector("aclnnMaxPool2dWithMaskBackward", "MaxPoolGradWithArgmaxV1", 9),
    "aten::mean": vector("aclnnMean", "ReduceMean", 1, "ReduceMeanOpAiCore", "MIX_AIV"),
    "aten::_log_softmax": vector("aclnnLogSoftmax", "LogSoftmaxV2", 6),
    "aten::_log_softmax_backward_data": vector("aclnnLogSoftmaxBackward", "LogSoftmaxGrad", 6, "LogSoftmaxGrad"),
    "aten::nll_loss_forward": vector("aclnnNLLLoss", "NLLLoss", 1, "NLLLossAiCore", "MIX_AIV"),
    "aten::nll_loss_backward": vector("aclnnNLLLossBackward", "NLLLossGrad", 1),
    "npu::npu_apply_adam_w": _update("aclnnApplyAdamWV2", "ApplyAdamWV2", 12),
    "aten::_foreach_add_": _update("aclnnForeachAddListV2", "ForeachAddList", 2),
    "aten::_foreach_mul_": _update("aclnnForeachMulScalarV2", "ForeachMulScalar", 1),
    "aten::_foreach_lerp_": _update("aclnnForeachLerpScalar", "ForeachLerpScalar", 2),
    "aten::_foreach_addcmul_": _update("aclnnForeachAddcmulScalarV2", "ForeachAddcmulScalar", 3),
    "aten::_foreach_addcdiv_": _update("aclnnForeachAddcdivScalarV2", "ForeachAddcdivScalar", 3),
    "aten::_foreach_sqrt": _update("aclnnForeachSqrt", "ForeachSqrt", 2),
    "aten::_foreach_div_": _update("aclnnForeachDivScalarV2", "ForeachDivScalar", 2),
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
