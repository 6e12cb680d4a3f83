"""Names of MindSpore -> those that the simulation knows."""

from __future__ import annotations

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
OPERATORS = {
    "Abs": "aten::abs",
    "Adam": "npu::npu_apply_adam_w",
    "AdamWeightDecay": "npu::npu_apply_adam_w",
    "Add": "aten::add",
    "BatchMatMul": "aten::bmm",
    "BiasAddGrad": "aten::sum",
    "Cast": "aten::_to_copy",
    "Concat": "aten::cat",
    "Conv2D": "aten::convolution",
    "Dense": "aten::addmm",
    "Div": "aten::div",
    "Exp": "aten::exp",
    "Gather": "aten::embedding",
    "GeLU": "aten::gelu",
    "LayerNorm": "aten::native_layer_norm",
    "LayerNormGrad": "aten::native_layer_norm_backward",
    "Log": "aten::log",
    "MatMul": "aten::mm",
    "Mul": "aten::mul",
    "Neg": "aten::neg",
    "Ones": "aten::fill_",
    "Pow": "aten::pow",
    "ReLU": "aten::relu",
    "ReduceMean": "aten::mean",
    "ReduceSum": "aten::sum",
    "Sigmoid": "aten::sigmoid",
    "Softmax": "aten::_softmax",
    "SoftmaxBackward": "aten::_softmax_backward_data",
    "Sqrt": "aten::sqrt",
    "Square": "aten::pow",
    "Sub": "aten::sub",
    "Tanh": "aten::tanh",
    "Transpose": "aten::clone",
    "Zeros": "aten::zero_",
    "ZerosLike": "aten::zero_",
}
