// The simulated NPU: a device of PyTorch (PrivateUse1, renamed to "npu") whose memory is host memory.
//
// module.cpp includes the other files of this folder, so that the extension is one translation unit. A file uses what stands
// here and in the files that are included before it.
#pragma once

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/version.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace npu {

using c10::Device;
using c10::DeviceIndex;
using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr auto kNpu = c10::DeviceType::PrivateUse1;
constexpr int kMaxDevices = 64;

inline bool on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kNpu;
}

// ---- the devices, and each thread's device and streams

std::atomic<int> devices{8};
thread_local DeviceIndex own_device = 0;
thread_local std::array<int64_t, kMaxDevices> own_streams{};

int device_count() { return devices.load(); }
void set_device_count(int count) { devices = count; }
DeviceIndex current_device() { return own_device; }
int64_t current_stream(DeviceIndex device) { return own_streams[device]; }
void set_stream(DeviceIndex device, int64_t stream) { own_streams[device] = stream; }
DeviceIndex index_of(Device device) { return device.has_index() ? device.index() : own_device; }

void set_device(DeviceIndex device) {
  TORCH_CHECK(device >= 0 && device < device_count(), "Invalid NPU device ", static_cast<int>(device), ": there are ",
              device_count(), " simulated devices (TB_NPU_DEVICES).");
  own_device = device;
}

}  // namespace npu
