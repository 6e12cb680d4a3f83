// torch.autocast("npu"): PyTorch's own lists of operators, each list with one boxed function.
#include "npu.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace npu {
namespace {

using at::Tensor;
using torch::jit::Stack;

bool takes_part(const Tensor& tensor) {
  return on_device(tensor) && tensor.is_floating_point() && tensor.scalar_type() != at::kDouble;
}

template <class Function>
void for_each_tensor(const c10::OperatorHandle& op, Stack* stack, Function&& change) {
  for (auto i = stack->size() - op.schema().arguments().size(); i < stack->size(); i++) {
    auto& value = (*stack)[i];
    if (value.isTensor()) {
      value = change(value.toTensor());
    } else if (value.isTensorList()) {
      auto tensors = value.toTensorVector();
      for (auto& tensor : tensors) tensor = change(tensor);
      value = c10::IValue(std::move(tensors));
    }
  }
}

void call_in(at::ScalarType type, const c10::OperatorHandle& op, Stack* stack) {
  for_each_tensor(op, stack, [&](const Tensor& tensor) {
    return takes_part(tensor) ? at::autocast::cached_cast(type, tensor, kNpu) : tensor;
  });
  op.callBoxed(stack);
}

using Outside = c10::impl::ExcludeDispatchKeyGuard;

void lower_precision(const c10::OperatorHandle& op, Stack* stack) {
  Outside guard(DispatchKey::AutocastPrivateUse1);
  call_in(at::autocast::get_autocast_dtype(kNpu), op, stack);
}

void float32(const c10::OperatorHandle& op, Stack* stack) {
  Outside guard(DispatchKey::AutocastPrivateUse1);
  call_in(at::kFloat, op, stack);
}

// Asks for a result in float32, where the caller asks for no type.
void float32_result(const c10::OperatorHandle& op, Stack* stack) {
  Outside guard(DispatchKey::AutocastPrivateUse1);
  const auto& arguments = op.schema().arguments();
  const auto first = stack->size() - arguments.size();
  const auto& self = (*stack)[first];
  const bool is_low = self.isTensor() && takes_part(self.toTensor());
  for (size_t i = 0; i < arguments.size() && is_low; i++) {
    auto& value = (*stack)[first + i];
    if (arguments[i].name() == "dtype" && value.isNone()) value = at::kFloat;
  }
  op.callBoxed(stack);
}

// All in the widest type that is among the arguments.
void widest(const c10::OperatorHandle& op, Stack* stack) {
  Outside guard(DispatchKey::AutocastPrivateUse1);
  auto type = at::autocast::get_autocast_dtype(kNpu);
  for_each_tensor(op, stack, [&](const Tensor& tensor) {
    if (takes_part(tensor) && tensor.scalar_type() == at::kFloat) type = at::kFloat;
    return tensor;
  });
  call_in(type, op, stack);
}

// "linear" or "mul, Tensor" (name, overload) as the registration wants it.
std::string operator_name(const char* text) {
  std::string name(text);
  const auto comma = name.find(',');
  if (comma == std::string::npos) return name;
  const auto overload = name.find_first_not_of(' ', comma + 1);
  return name.substr(0, comma) + "." + name.substr(overload);
}

void add(torch::Library& m, const char* text, void (*function)(torch::Library&, const char*)) {
  const auto name = operator_name(text);
  const auto dot = name.find('.');
  const c10::OperatorName full("aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
  if (c10::Dispatcher::singleton().findOp(full)) function(m, name.c_str());
}

template <void (*kFunction)(const c10::OperatorHandle&, Stack*)>
void implement(torch::Library& m, const char* name) {
  m.impl(name, torch::CppFunction::makeFromBoxedFunction<kFunction>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

#ifdef AT_FORALL_LOWER_PRECISION_FP
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define LOWER(...) add(m, #__VA_ARGS__, implement<lower_precision>);
#define FLOAT(...) add(m, #__VA_ARGS__, implement<float32>);
#define RESULT(...) add(m, #__VA_ARGS__, implement<float32_result>);
#define WIDEST(...) add(m, #__VA_ARGS__, implement<widest>);
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(RESULT)
  AT_FORALL_PROMOTE(WIDEST)
  for (const auto* name : {"norm.Scalar", "norm.ScalarOpt_dim", "norm.names_ScalarOpt_dim"}) add(m, name, implement<float32>);
}
#else  // PyTorch 2.4 keeps its lists to itself
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  for (const auto* name : {"conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d", "conv_transpose2d, input",
                           "conv_transpose3d, input", "prelu", "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv",
                           "linear", "addbmm", "baddbmm", "bmm", "lstm_cell", "gru_cell", "scaled_dot_product_attention"}) {
    add(m, name, implement<lower_precision>);
  }
  for (const auto* name : {"exp", "log", "log1p", "pow, Tensor_Scalar", "pow, Tensor_Tensor", "rsqrt", "reciprocal", "softplus",
                           "layer_norm", "native_layer_norm", "group_norm", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss",
                           "cross_entropy_loss", "kl_div", "binary_cross_entropy_with_logits", "cosine_similarity", "dist",
                           "norm, Scalar", "norm, ScalarOpt_dim"}) {
    add(m, name, implement<float32>);
  }
  for (const auto* name : {"prod", "prod, dim_int", "softmax, int", "log_softmax, int", "cumprod", "cumsum", "sum",
                           "sum, dim_IntList", "linalg_vector_norm"}) {
    add(m, name, implement<float32_result>);
  }
  for (const auto* name : {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "tensordot",
                           "scatter_add", "vdot"}) {
    add(m, name, implement<widest>);
  }
}
#endif

}  // namespace
}  // namespace npu
