// Operators that are the device itself (memory, copies, reading a number), and host kernels of operators that PyTorch has
// for devices only; the fallback runs the latter. torch.autocast("npu"): PyTorch's own lists of operators and policies.
#include "npu.h"

#include <ATen/EmptyTensor.h>
#include <ATen/OpMathType.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/convolution_native.h>
#include <ATen/ops/set_native.h>
#include <torch/library.h>

namespace npu {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
const DispatchKeySet kKeys(DispatchKey::PrivateUse1);

// ---- memory

Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
             std::optional<Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &the_device_allocator, kKeys, c10::dtype_or_default(type), format);
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> type,
                     std::optional<at::Layout>, std::optional<Device> device, std::optional<bool>) {
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &the_device_allocator,
                                           kKeys, c10::dtype_or_default(type));
}

// Forward-mode derivatives of constants: zeros without memory.
Tensor efficient_zero_tensor(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                             std::optional<Device> device, std::optional<bool>) {
  c10::OptionalDeviceGuard guard(device);
  at::native::ZeroTensorAllocator allocator(Device(kNpu, current_device()));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator, kKeys | DispatchKeySet(DispatchKey::ZeroTensor),
                                   c10::dtype_or_default(type), std::nullopt);
}

const Tensor& resize_(const Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(C10_AS_INTARRAYREF_SLOW(size));
  if (format) impl->empty_tensor_restride(*format);
  const auto needed = static_cast<size_t>((self.numel() ? self.numel() + self.storage_offset() : 0) * self.element_size());
  if (needed > self.storage().nbytes()) at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(self.storage(), needed);
  return self;
}

Tensor& set_storage_strided(Tensor& self, at::Storage storage, c10::SymInt offset, c10::SymIntArrayRef size,
                            c10::SymIntArrayRef stride) {
  TORCH_CHECK(storage.device().type() == kNpu, "npu: set_() of a device tensor needs a storage on the device");
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  if (stride.size() == size.size()) {
    impl->set_sizes_and_strides(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset.expect_int());
  } else {
    impl->set_sizes_contiguous(C10_AS_INTARRAYREF_SLOW(size));
    impl->set_storage_offset(offset.expect_int());
  }
  return self;
}

Tensor pin_memory(const Tensor& self, std::optional<Device>) {
  Tensor out = at::detail::empty_strided_cpu(self.sizes(), self.strides(), self.scalar_type(), /*pin_memory=*/true);
  return out.copy_(self);
}

// ---- copies

bool shares_layout(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_non_overlapping_and_dense() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

// Copies between tensors that both devices can reach, and records it as one copy.
void move(const Tensor& from, const Tensor& to, bool non_blocking) {
  CallRecord record(Kind::kCopy);
  const bool from_device = on_device(from), to_device = on_device(to);
  HostViews views(/*any_device=*/true);
  const auto source = from_device ? views.host(from) : from, target = to_device ? views.host(to) : to;
  record.compute([&] { target.copy_(source); });
  if (!record.is_recording) return;
  Signature signature("aten::copy_", {to, from}, {to});
  const bool pinned = is_pinned((from_device ? to : from).storage().data());
  const auto direction = from_device ? (to_device ? Copy::kDeviceToDevice : Copy::kDeviceToHost) : Copy::kHostToDevice;
  record.write_copy(direction, to.nbytes(), (to_device ? to : from).device().index(), signature);
  // Memory that is not pinned moves through a buffer of the driver, which the host waits for.
  if (direction != Copy::kDeviceToDevice && !(pinned && non_blocking)) record.write_sync(Sync::kCopy);
}

// Between host and device only memory moves: types and layouts are changed before, where the tensor is, or after.
Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (self.is_same(source) || self.numel() == 0) return self;
  if (source._is_zerotensor()) return self.zero_();
  if (on_device(self) && on_device(source)) {
    move(source.expand_as(self), self, non_blocking);
    return self;
  }
  c10::OptionalDeviceGuard guard(on_device(self) ? self.device() : source.device());
  auto from = source;
  if (!shares_layout(from, self)) from = from.to(self.scalar_type()).expand_as(self).resolve_conj().resolve_neg().contiguous();
  if (shares_layout(from, self)) {
    move(from, self, non_blocking);
  } else {
    auto contiguous = at::empty(self.sizes(), self.options());
    move(from, contiguous, non_blocking);
    self.copy_(contiguous);
  }
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& target, bool non_blocking) {
  auto out = target;
  copy_(out, self, non_blocking);
  return target;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& target) {
  if (target.sizes() != self.sizes()) target.resize_(self.sizes());
  return copy_from(self, target, false);
}

at::Scalar local_scalar_dense(const Tensor& self) {
  CallRecord record(Kind::kCopy);
  HostViews views;
  const auto host_tensor = views.host(self);
  at::Scalar value;
  record.compute([&] { value = at::_local_scalar_dense(host_tensor); });
  if (!record.is_recording) return value;
  Signature signature("aten::_local_scalar_dense", {self}, {});
  record.write_copy(Copy::kDeviceToHost, self.element_size(), self.device().index(), signature);
  record.write_sync(Sync::kScalar);
  return value;
}

// ---- dropout: an operator that takes a generator, so that the device's random numbers are its own

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  if (!train.value_or(true)) return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("npu::_npu_dropout", "")
                             .typed<std::tuple<Tensor, Tensor>(const Tensor&, double, std::optional<at::Generator>)>();
  return op.call(input, p, std::nullopt);
}

std::tuple<Tensor, Tensor> host_dropout(const Tensor& input, double p, std::optional<at::Generator> generator) {
  auto mask = at::empty_like(input, input.options().dtype(at::kBool), at::MemoryFormat::Contiguous).bernoulli_(1 - p, generator);
  auto out = p == 1 ? at::zeros_like(input) : at::mul(input, mask).mul_(1 / (1 - p));
  return {out, mask};
}

// ---- convolution: without a library of the device PyTorch asks for these two

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                                        at::IntArrayRef stride, at::IntArrayRef padding,
                                                        at::IntArrayRef dilation, bool transposed,
                                                        at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> mask) {
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(grad, input, weight, at::IntArrayRef{channels}, stride, padding, dilation, transposed,
                                  output_padding, groups, mask);
}

// ---- cells of recurrent networks: on a device one operator each. Gates are columns, biases may be missing

Tensor with_bias(const Tensor& gates, const OptionalTensor& bias) { return bias && bias->defined() ? gates + *bias : gates; }

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                                             const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  auto gates = with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
  auto parts = gates.chunk(4, 1);
  auto cy = parts[1].sigmoid() * cx + parts[0].sigmoid() * parts[2].tanh();
  return {parts[3].sigmoid() * cy.tanh(), cy, gates};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy, const OptionalTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy, const Tensor& gates,
                                                      bool has_bias) {
  const auto none = at::zeros_like(gates);
  const auto found = at::_thnn_differentiable_lstm_cell_backward(grad_hy, grad_cy, gates, none, {}, {}, cx, cy);
  const auto& grad = std::get<0>(found);
  return {grad, std::get<2>(found), has_bias ? grad.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  auto in = with_bias(input_gates, input_bias).chunk(3, 1), hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  auto reset = (in[0] + hidden[0]).sigmoid(), update = (in[1] + hidden[1]).sigmoid();
  auto fresh = (in[2] + reset * hidden[2]).tanh();
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad, const Tensor& workspace, bool has_bias) {
  auto parts = workspace.chunk(5, 1);
  auto reset = parts[0], update = parts[1], fresh = parts[2], hx = parts[3], hidden = parts[4];
  auto d_update = grad * (hx - fresh) * update * (1 - update);
  auto d_fresh = grad * (1 - update) * (1 - fresh * fresh);
  auto d_reset = d_fresh * hidden * reset * (1 - reset);
  auto d_input = at::cat({d_reset, d_update, d_fresh}, 1), d_hidden = at::cat({d_reset, d_update, d_fresh * reset}, 1);
  return {d_input, d_hidden, grad * update, has_bias ? d_input.sum(0) : Tensor(), has_bias ? d_hidden.sum(0) : Tensor()};
}

// ---- SyncBatchNorm: each rank's mean and 1 / standard deviation of a channel (the second dimension), and those of all ranks

std::vector<int64_t> dims_but_channel(const Tensor& input) {
  std::vector<int64_t> out = {0};
  for (int64_t dim = 2; dim < input.dim(); dim++) out.push_back(dim);
  return out;
}

Tensor wide(const Tensor& tensor) { return tensor.to(at::toOpMathType(tensor.scalar_type())); }

// Shaped so that it combines with each channel of the input.
Tensor for_channels(const Tensor& values, const Tensor& input) {
  std::vector<int64_t> shape(input.dim(), 1);
  shape[1] = -1;
  return values.view(shape);
}

std::tuple<Tensor, Tensor> batch_norm_stats(const Tensor& input, double eps) {
  auto [variance, mean] = at::var_mean(wide(input), dims_but_channel(input), /*correction=*/0);
  return {mean, (variance + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> batch_norm_gather_stats(const Tensor&, const Tensor& means, const Tensor& invstds,
                                                   const OptionalTensor& running_mean, const OptionalTensor& running_var,
                                                   double momentum, double eps, const Tensor& counts) {
  auto all = counts.sum(), shares = (counts / all).view({-1, 1});
  auto mean = (means * shares).sum(0);
  auto variance = ((invstds.pow(-2) - eps + (means - mean).square()) * shares).sum(0);
  if (running_mean && running_mean->defined()) running_mean->lerp_(mean.to(running_mean->scalar_type()), momentum);
  if (running_var && running_var->defined()) {
    running_var->lerp_((variance * all / (all - 1)).to(running_var->scalar_type()), momentum);
  }
  return {mean, (variance + eps).rsqrt()};
}

Tensor batch_norm_elemt(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const Tensor& mean,
                        const Tensor& invstd, double) {
  auto out = (wide(input) - for_channels(mean, input)) * for_channels(invstd, input);
  if (weight && weight->defined()) out = out * for_channels(*weight, input);
  if (bias && bias->defined()) out = out + for_channels(*bias, input);
  return out.to(input.scalar_type());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_backward_reduce(const Tensor& grad, const Tensor& input,
                                                                      const Tensor& mean, const Tensor& invstd,
                                                                      const OptionalTensor& weight, bool, bool, bool) {
  const auto dims = dims_but_channel(input);
  auto sum = wide(grad).sum(dims), product = (wide(grad) * (wide(input) - for_channels(mean, input))).sum(dims);
  const auto type = weight && weight->defined() ? weight->scalar_type() : sum.scalar_type();
  return {sum, product, (product * invstd).to(type), sum.to(type)};
}

Tensor batch_norm_backward_elemt(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& invstd,
                                 const OptionalTensor& weight, const Tensor& sum, const Tensor& product, const Tensor& counts) {
  auto all = counts.sum(), centered = wide(input) - for_channels(mean, input);
  auto out = wide(grad) - for_channels(sum / all, input) - centered * for_channels(product / all * invstd.square(), input);
  out = out * for_channels(weight && weight->defined() ? invstd * *weight : invstd, input);
  return out.to(input.scalar_type());
}

TORCH_LIBRARY(npu, m) { m.def("_npu_dropout(Tensor input, float p, Generator? generator=None) -> (Tensor, Tensor)"); }
TORCH_LIBRARY_IMPL(npu, CPU, m) { m.impl("_npu_dropout", host_dropout); }

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("convolution_overrideable", at::native::convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
  m.impl("_thnn_fused_lstm_cell", lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
  m.impl("batch_norm_stats", batch_norm_stats);
  m.impl("batch_norm_gather_stats_with_counts", batch_norm_gather_stats);
  m.impl("batch_norm_elemt", batch_norm_elemt);
  m.impl("batch_norm_backward_reduce", batch_norm_backward_reduce);
  m.impl("batch_norm_backward_elemt", batch_norm_backward_elemt);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("_efficientzerotensor", efficient_zero_tensor);
  m.impl("resize_", resize_);
  m.impl("set_.source_Storage_storage_offset", set_storage_strided);
  m.impl("set_.source_Storage", static_cast<Tensor& (*)(Tensor&, at::Storage)>(at::native::set_));
  m.impl("set_.source_Tensor", at::native::set_tensor_);
  m.impl("set_", [](Tensor& self) -> Tensor& { return self.set_(at::empty({0}, self.options())); });
  // So that Module.to() and `p.data = ...` keep the parameter: weights that two modules share stay shared.
  m.impl("_has_compatible_shallow_copy_type",
         [](const Tensor& self, const Tensor& from) { return self.layout() == from.layout(); });
  m.impl("record_stream", [](Tensor&, at::Stream) {});  // memory is never reused while work is on its way
  m.impl("is_pinned", [](const Tensor& self, std::optional<Device>) {
    return self.device().is_cpu() && is_pinned(self.storage().data());
  });
  m.impl("_pin_memory", pin_memory);
  m.impl("copy_", copy_);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
  m.impl("native_dropout", native_dropout);
}

// ---- autocast

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
