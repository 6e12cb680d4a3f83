// The Python module, and the one translation unit of the extension.
#include "npu.h"

#include "records.cpp"
#include "memory.cpp"
#include "guard.cpp"
#include "views.cpp"
#include "fallback.cpp"
#include "operators.cpp"
#include "attention.cpp"
#include "hccl.cpp"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace npu {

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  m.def("take_operators", &take_operators);
  m.def("device_count", &device_count);
  m.def("set_device_count", &set_device_count);
  m.def("current_device", [] { return static_cast<int>(current_device()); });
  m.def("set_device", [](int device) { set_device(static_cast<DeviceIndex>(device)); });
  m.def("synchronize", [](int device) { Guard().synchronizeDevice(static_cast<DeviceIndex>(device)); });
  m.def("current_stream", [](int device) { return current_stream(static_cast<DeviceIndex>(device)); });
  m.def("set_stream", [](int device, int64_t id) { set_stream(static_cast<DeviceIndex>(device), id); });
  m.def("default_generator", [](int device) { return default_generator(static_cast<DeviceIndex>(device)); });
  m.def("memory_counters", [](int device) {
    const auto& memory = counters[device];
    return std::map<std::string, int64_t>{
        {"allocated", memory.allocated}, {"allocated_peak", memory.allocated_peak}, {"reserved", memory.reserved},
        {"reserved_peak", memory.reserved_peak}, {"allocations", memory.allocations}, {"frees", memory.frees},
        {"limit", memory.limit}};
  });
  m.def("reset_peaks", [](int device) { reset_peaks(static_cast<DeviceIndex>(device)); });
  m.def("set_memory_limit", [](int device, int64_t bytes) { counters[static_cast<DeviceIndex>(device)].limit = bytes; });
  m.def("empty_cache", &empty_cache);
  m.def("hccl", &make_hccl);
  m.def("start_recording", &start_recording);
  m.def("stop_recording", &stop_recording);
  m.def("take_records", &take_records);
}

}  // namespace npu
