// Host tensors that share the memory of device tensors, and device tensors for what the host computed: nothing is
// copied. A result whose storage belongs to an argument becomes a view of that argument on the device, too.
#include "npu.h"

#include <ATen/native/SparseTensorUtils.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>

namespace npu {

void copy_geometry(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

void copy_bits(const at::Tensor& from, const at::Tensor& to) {
  if (from.unsafeGetTensorImpl()->is_wrapped_number()) to.unsafeGetTensorImpl()->set_wrapped_number(true);
  if (from.is_conj() != to.is_conj()) to._set_conj(from.is_conj());
  if (from.is_neg() != to.is_neg()) to._set_neg(from.is_neg());
}

// One operator call: host views of its device tensors, and device tensors for its results.
class HostViews {
 public:
  explicit HostViews(bool any_device = false) : any_device_(any_device) {}
  DeviceIndex index() const { return index_ < 0 ? current_device() : index_; }
  void set_index(DeviceIndex index) { index_ = index; }

  at::Tensor host(const at::Tensor& tensor) {
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

  at::Tensor device(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
    for (const auto& pair : tensors_) {
      if (pair.second.is_same(tensor)) return pair.first;
    }
    if (tensor.is_sparse()) return sparse_device(tensor);
    auto storage = device_storage(tensor.storage());
    const auto* base = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& pair) {
      return !pair.first.is_sparse() && pair.first.storage().is_alias_of(storage);
    });
    const bool is_view = base != tensors_.end();  // an inference tensor where its base is one
    const auto keys = is_view ? base->first.key_set() : DispatchKeySet(DispatchKey::PrivateUse1);
    auto out = is_view ? at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys, tensor.dtype())
                       : at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, tensor.dtype());
    copy_geometry(tensor, out);
    copy_bits(tensor, out);
    return out;
  }

  // Takes over what the host computation resized.
  void finish() {
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
        const bool is_same = device.sizes() == host.sizes() && device.strides() == host.strides();
        if (!is_same || device.storage_offset() != host.storage_offset()) copy_geometry(host, device);
      } else {
        copy_sparse(host, device);
      }
    }
  }

 private:
  c10::Storage host_storage(const c10::Storage& storage) {
    for (const auto& pair : storages_) {
      if (pair.first.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return pair.second;
    }
    c10::DataPtr data(storage.mutable_data(), Device(c10::kCPU));  // not owned
    c10::Storage host(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(data), c10::GetCPUAllocator(), true);
    storages_.emplace_back(storage, host);
    return host;
  }

  c10::Storage device_storage(const c10::Storage& storage) {
    for (const auto& pair : storages_) {
      if (pair.second.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return pair.first;
    }
    const auto bytes = storage.nbytes();
    auto* address = storage.mutable_data();
    c10::DataPtr owner(address, new c10::Storage(storage), [](void* kept) { delete static_cast<c10::Storage*>(kept); },
                       Device(c10::kCPU));
    c10::Storage device(c10::Storage::use_byte_size_t(), bytes, adopt(std::move(owner), index(), static_cast<int64_t>(bytes)),
                        &the_device_allocator, true);
    storages_.emplace_back(device, storage);
    return device;
  }

  at::Tensor sparse_host(const at::Tensor& tensor) {
    auto* impl = at::sparse::get_sparse_impl(tensor);
    auto host = at::_sparse_coo_tensor_unsafe(this->host(impl->indices()), this->host(impl->values()), tensor.sizes());
    host._coalesced_(impl->coalesced());
    tensors_.emplace_back(tensor, host);
    return host;
  }

  at::Tensor sparse_device(const at::Tensor& tensor) {
    auto out = at::detail::make_tensor<at::SparseTensorImpl>(DispatchKeySet(DispatchKey::SparsePrivateUse1), tensor.dtype());
    copy_sparse(tensor, out);
    return out;
  }

  void copy_sparse(const at::Tensor& host, const at::Tensor& device) {
    auto *from = at::sparse::get_sparse_impl(host), *to = at::sparse::get_sparse_impl(device);
    to->resize_(from->sparse_dim(), from->dense_dim(), host.sizes());
    to->set_indices_and_values_unsafe(this->device(from->indices()), this->device(from->values()));
    to->set_coalesced(from->coalesced());
  }

  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 8> tensors_;       // device, host
  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 8> storages_;  // device, host
  DeviceIndex index_ = -1;
  bool any_device_;
};

}  // namespace npu
