// Host tensors that share the memory of device tensors, and device tensors for what the host computed: nothing is
// copied. A result whose storage belongs to an argument becomes a view of that argument on the device, too.
#include "npu.h"

#include <ATen/native/SparseTensorUtils.h>
#include <c10/core/CPUAllocator.h>

namespace npu {

static std::atomic<int64_t> computed_ns{0};
static thread_local int sections = 0;

int64_t computed() { return computed_ns.load(); }
bool HostSection::is_open() { return sections > 0; }

HostSection::HostSection()
    : begin(sections++ ? 0 : now()), below(c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset) {}

HostSection::~HostSection() {
  if (--sections == 0) computed_ns += now() - begin;
}

c10::Storage HostViews::host_storage(const c10::Storage& storage) {
  for (const auto& pair : storages_) {
    if (pair.first.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return pair.second;
  }
  c10::DataPtr data(storage.mutable_data(), Device(c10::kCPU));  // not owned
  c10::Storage host(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(data), c10::GetCPUAllocator(), true);
  storages_.emplace_back(storage, host);
  return host;
}

c10::Storage HostViews::device_storage(const c10::Storage& storage) {
  for (const auto& pair : storages_) {
    if (pair.second.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return pair.first;
  }
  const auto bytes = storage.nbytes();
  auto* address = storage.mutable_data();
  c10::DataPtr owner(address, new c10::Storage(storage), [](void* kept) { delete static_cast<c10::Storage*>(kept); },
                     Device(c10::kCPU));
  c10::Storage device(c10::Storage::use_byte_size_t(), bytes, adopt(std::move(owner), index(), static_cast<int64_t>(bytes)),
                      device_allocator(), true);
  storages_.emplace_back(device, storage);
  return device;
}

static void copy_geometry(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

static void copy_bits(const at::Tensor& from, const at::Tensor& to) {
  if (from.unsafeGetTensorImpl()->is_wrapped_number()) to.unsafeGetTensorImpl()->set_wrapped_number(true);
  if (from.is_conj() != to.is_conj()) to._set_conj(from.is_conj());
  if (from.is_neg() != to.is_neg()) to._set_neg(from.is_neg());
}

at::Tensor HostViews::host(const at::Tensor& tensor) {
  for (const auto& pair : tensors_) {
    if (pair.first.is_same(tensor)) return pair.second;
  }
  const auto own = tensor.device().index();
  if (index_ < 0) index_ = own;
  TORCH_CHECK(index_ == own || any_device_, "Expected all tensors to be on the same device, but found at least two devices, npu:",
              static_cast<int>(index_), " and npu:", static_cast<int>(own), "!");
  if (tensor.is_sparse()) return sparse_host(tensor);
  auto host = at::detail::make_tensor<c10::TensorImpl>(host_storage(tensor.storage()), DispatchKeySet(DispatchKey::CPU),
                                                       tensor.dtype());
  copy_geometry(tensor, host);
  copy_bits(tensor, host);
  tensors_.emplace_back(tensor, host);
  return host;
}

at::Tensor HostViews::device(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
  for (const auto& pair : tensors_) {
    if (pair.second.is_same(tensor)) return pair.first;
  }
  if (tensor.is_sparse()) return sparse_device(tensor);
  auto storage = device_storage(tensor.storage());
  auto keys = DispatchKeySet(DispatchKey::PrivateUse1);
  bool is_view = false;
  for (const auto& pair : tensors_) {  // views are inference tensors where their base is one
    if (pair.first.is_sparse() || !pair.first.storage().is_alias_of(storage)) continue;
    keys = pair.first.key_set();
    is_view = true;
    break;
  }
  auto out = is_view ? at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys, tensor.dtype())
                     : at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, tensor.dtype());
  copy_geometry(tensor, out);
  copy_bits(tensor, out);
  return out;
}

at::Tensor HostViews::sparse_host(const at::Tensor& tensor) {
  auto* impl = at::sparse::get_sparse_impl(tensor);
  auto host = at::_sparse_coo_tensor_unsafe(this->host(impl->indices()), this->host(impl->values()), tensor.sizes());
  host._coalesced_(impl->coalesced());
  tensors_.emplace_back(tensor, host);
  return host;
}

at::Tensor HostViews::sparse_device(const at::Tensor& tensor) {
  auto* impl = at::sparse::get_sparse_impl(tensor);
  auto out = at::detail::make_tensor<at::SparseTensorImpl>(DispatchKeySet(DispatchKey::SparsePrivateUse1), tensor.dtype());
  auto* own = at::sparse::get_sparse_impl(out);
  own->resize_(impl->sparse_dim(), impl->dense_dim(), tensor.sizes());
  own->set_indices_and_values_unsafe(device(impl->indices()), device(impl->values()));
  own->set_coalesced(impl->coalesced());
  return out;
}

void HostViews::finish() {
  for (auto& pair : storages_) {
    auto& [device, host] = pair;
    if (host.data() == device.data()) continue;
    const auto bytes = host.nbytes();
    auto data = host.set_data_ptr(c10::DataPtr(nullptr, Device(c10::kCPU)));
    device.set_data_ptr_noswap(adopt(std::move(data), index(), static_cast<int64_t>(bytes)));
    device.set_nbytes(bytes);
    // Results that share the host storage must find its memory there.
    host.set_data_ptr(c10::DataPtr(device.mutable_data(), Device(c10::kCPU)));
  }
  for (size_t i = 0; i < tensors_.size(); i++) {  // sparse tensors add to the list
    const auto [device, host] = tensors_[i];
    if (!device.is_sparse()) {
      if (device.sizes() != host.sizes() || device.strides() != host.strides() ||
          device.storage_offset() != host.storage_offset()) {
        copy_geometry(host, device);
      }
      continue;
    }
    auto* from = at::sparse::get_sparse_impl(host);
    auto* to = at::sparse::get_sparse_impl(device);
    to->resize_(from->sparse_dim(), from->dense_dim(), host.sizes());
    to->set_indices_and_values_unsafe(this->device(from->indices()), this->device(from->values()));
    to->set_coalesced(from->coalesced());
  }
}

}  // namespace npu
