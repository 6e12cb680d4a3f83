// Random numbers: each device has a separate generator, which draws from one of the CPU.
#include "npu.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>

namespace npu {
namespace {

struct Generator final : c10::GeneratorImpl {
  explicit Generator(DeviceIndex device, at::Generator host)
      : GeneratorImpl(Device(kNpu, device), DispatchKeySet(DispatchKey::PrivateUse1)), host(std::move(host)) {}
  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_offset(uint64_t offset) override { TORCH_CHECK(offset == 0, "npu: the simulated generator has no offset"); }
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override { host.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return host.unsafeGetGeneratorImpl()->get_state(); }
  GeneratorImpl* clone_impl() const override { return new Generator(device_.index(), host.clone()); }
  at::Generator host;
};

}  // namespace

at::Generator new_generator(DeviceIndex device) {
  return at::make_generator<Generator>(device < 0 ? current_device() : device, at::detail::createCPUGenerator());
}

const at::Generator& default_generator(DeviceIndex device) {
  static auto* generators = [] {
    auto* all = new std::vector<at::Generator>;
    for (int i = 0; i < kMaxDevices; i++) all->push_back(new_generator(static_cast<DeviceIndex>(i)));
    return all;
  }();
  return (*generators)[device < 0 ? current_device() : device];
}

at::Generator host_generator(const at::Generator& generator) {
  return static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->host;
}

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 6  // later releases ask the hooks (guard.cpp)
REGISTER_GENERATOR_PRIVATEUSE1(new_generator)
#endif

}  // namespace npu
