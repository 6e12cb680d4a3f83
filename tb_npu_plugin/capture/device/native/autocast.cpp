// torch.autocast("npu"): PyTorch's own lists of operators, with PyTorch's own policies.
#include "npu.h"

#include <ATen/autocast_mode.h>
#include <torch/library.h>

// PyTorch 2.4 keeps its lists to itself.
#ifndef AT_FORALL_LOWER_PRECISION_FP
#define AT_FORALL_LOWER_PRECISION_FP(_)                                                                              \
  _(conv1d) _(conv1d, padding) _(conv2d) _(conv2d, padding) _(conv3d) _(conv3d, padding) _(convolution)              \
  _(conv_transpose1d) _(conv_transpose2d, input) _(conv_transpose3d, input) _(prelu) _(addmm) _(addmv) _(addr)       \
  _(matmul) _(einsum) _(mm) _(mv) _(linear) _(addbmm) _(baddbmm) _(bmm) _(linalg_multi_dot) _(lstm_cell)             \
  _(gru_cell) _(rnn_tanh_cell) _(rnn_relu_cell) _(scaled_dot_product_attention)
#define AT_FORALL_FP32(_)                                                                                            \
  _(exp) _(log) _(log1p) _(pow, Tensor_Scalar) _(pow, Tensor_Tensor) _(rsqrt) _(reciprocal) _(softplus)              \
  _(layer_norm) _(native_layer_norm) _(group_norm) _(nll_loss) _(mse_loss) _(l1_loss) _(smooth_l1_loss)              \
  _(cross_entropy_loss) _(kl_div) _(binary_cross_entropy_with_logits) _(cosine_similarity) _(dist)
#define AT_FORALL_FP32_SET_OPT_DTYPE(_)                                                                              \
  _(prod) _(prod, dim_int) _(softmax, int) _(log_softmax, int) _(cumprod) _(cumsum) _(sum) _(sum, dim_IntList)       \
  _(linalg_vector_norm)
#define AT_FORALL_PROMOTE(_)                                                                                         \
  _(addcdiv) _(addcmul) _(atan2) _(bilinear) _(cross) _(dot) _(grid_sampler) _(index_put) _(tensordot)               \
  _(scatter_add) _(vdot)
#endif

namespace npu {

#define LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define RESULT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(LOWER)
  AT_FORALL_FP32(FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(RESULT)
  AT_FORALL_PROMOTE(WIDEST)
  FLOAT(norm, Scalar)
  FLOAT(norm, ScalarOpt_dim)
}

}  // namespace npu
