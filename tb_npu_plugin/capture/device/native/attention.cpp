// scaled_dot_product_attention as one operator forward and one backward, instead of the ten that PyTorch runs otherwise.
// PyTorch 2.4 has no such operators for other devices.
#include "npu.h"

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 5

#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/library.h>

namespace npu {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// Several heads of the query may share one of key and value.
int64_t heads_per_key(const Tensor& query, const Tensor& key) { return query.size(1) / key.size(1); }
Tensor repeat_heads(const Tensor& tensor, int64_t times) { return times == 1 ? tensor : tensor.repeat_interleave(times, 1); }
Tensor sum_heads(const Tensor& grad, int64_t times) {
  return times == 1 ? grad : grad.unflatten(1, {grad.size(1) / times, times}).sum(2);
}

using Forward = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Forward attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double dropout,
                  bool is_causal, bool, std::optional<double> scale) {
  const auto times = heads_per_key(query, key);
  auto [out, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      query, repeat_heads(key, times), repeat_heads(value, times), dropout, is_causal, mask, scale);
  return {out, logsumexp, Tensor(), Tensor(), query.sym_size(2), key.sym_size(2), Tensor(), Tensor(), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
    std::array<bool, 4>, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
    double dropout, bool is_causal, const Tensor&, const Tensor&, std::optional<double> scale) {
  const auto times = heads_per_key(query, key);
  auto [grad_query, grad_key, grad_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      grad, query, repeat_heads(key, times), repeat_heads(value, times), out, logsumexp, dropout, is_causal,
      mask.defined() ? OptionalTensor(mask) : std::nullopt, scale);
  return {grad_query, sum_heads(grad_key, times), sum_heads(grad_value, times), Tensor()};
}

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable", attention);
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward);
}

// The host's kernel knows neither dropout nor the gradient of a mask; those cases run as several operators.
bool can_fuse(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double dropout) {
  const bool is_dense = !query.is_nested() && query.dim() == 4 && key.dim() == 4 && value.dim() == 4;
  if (!is_dense || !at::isFloatingType(query.scalar_type())) return false;
  const auto width = query.size(3);
  return dropout == 0 && width == key.size(3) && width == value.size(3) && query.numel() > 0 && key.numel() > 0 &&
         query.size(0) == key.size(0) && query.size(1) % key.size(1) == 0 && key.size(1) == value.size(1) &&
         query.scalar_type() == key.scalar_type() && !(mask && mask->defined() && (mask->requires_grad() || mask->dim() == 3));
}

}  // namespace npu

namespace at::native {
namespace {

template <class... More>  // releases differ in what follows the mask and the dropout
int64_t choose_attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                         double dropout, More...) {
  return static_cast<int64_t>(npu::can_fuse(query, key, value, mask, dropout) ? sdp::SDPBackend::overrideable
                                                                              : sdp::SDPBackend::math);
}

}  // namespace
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &choose_attention)
}  // namespace at::native
#endif
