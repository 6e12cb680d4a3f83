// Devices, streams and events, and random numbers. Work is done when it is submitted, so nothing ever waits; it is only recorded.
#include "npu.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace npu {

std::atomic<int64_t> next_stream{1}, next_event{1};

struct Event {
  int64_t number = next_event++;
  int64_t time = 0;
};

// Methods without `override` are not virtual in the oldest PyTorch that is supported.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNpu; }
  Device getDevice() const override { return {kNpu, own_device}; }
  void setDevice(Device device) const override { set_device(device.index()); }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.has_index()) own_device = device.index();
  }
  Device exchangeDevice(Device device) const override {
    Device old(kNpu, own_device);
    setDevice(device);
    return old;
  }
  DeviceIndex deviceCount() const noexcept override { return static_cast<DeviceIndex>(device_count()); }

  static c10::Stream make(Device device, int64_t id) {
    return c10::Stream(c10::Stream::UNSAFE, Device(kNpu, index_of(device)), id);
  }
  c10::Stream getStream(Device device) const noexcept override { return make(device, own_streams[index_of(device)]); }
  c10::Stream getDefaultStream(Device device) const override { return make(device, 0); }
  c10::Stream getStreamFromGlobalPool(Device device, bool) const override { return make(device, next_stream++); }
  c10::Stream getNewStream(Device device, int) const override { return make(device, next_stream++); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    auto& own = own_streams[stream.device_index()];
    auto old = make(stream.device(), own);
    own = stream.id();
    return old;
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& stream) const override { sync(Sync::kStream, stream.device_index(), stream.id()); }
  void synchronizeDevice(const DeviceIndex device) const { sync(Sync::kDevice, device < 0 ? own_device : device, 0); }

  void record(void** event, const c10::Stream& stream, const DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new Event;
    auto* own = static_cast<Event*>(*event);
    own->time = now();
    write_moment(Kind::kEventRecord, 0, stream.device_index(), stream.id(), own->number);
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event) write_moment(Kind::kStreamWait, 0, stream.device_index(), stream.id(), static_cast<Event*>(event)->number);
  }
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void* event) const {
    if (event) sync(Sync::kEvent, own_device, current_stream(own_device), static_cast<Event*>(event)->number);
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  double elapsedTime(void* from, void* to, const DeviceIndex) const {
    TORCH_CHECK(from && to, "Both events must be recorded before calculating elapsed time.");
    return static_cast<double>(static_cast<Event*>(to)->time - static_cast<Event*>(from)->time) / 1e6;
  }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

  static void sync(Sync what, DeviceIndex device, int64_t stream, int64_t event = 0) {
    write_moment(Kind::kSync, static_cast<uint8_t>(what), device, stream, event);
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// Each device has a separate generator, which draws from one of the CPU.
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

// The CPU's generator inside a device's.
at::Generator host_generator(const at::Generator& generator) {
  return static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->host;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
  void init() const {}
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const { return static_cast<DeviceIndex>(device_count()); }
  DeviceIndex getCurrentDevice() const { return own_device; }
  void setCurrentDevice(DeviceIndex device) const { set_device(device); }
  DeviceIndex exchangeDevice(DeviceIndex device) const { return Guard().exchangeDevice(Device(kNpu, device)).index(); }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const { return device < 0 ? own_device : exchangeDevice(device); }
  const at::Generator& getDefaultGenerator(DeviceIndex device) const { return default_generator(device); }
  at::Generator getNewGenerator(DeviceIndex device) const { return new_generator(device); }
  Device getDeviceFromPtr(void*) const override { return {kNpu, own_device}; }
  bool isPinnedPtr(const void* address) const { return is_pinned(address); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &the_pinned_allocator; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::DeviceGuard guard(storage.device());
    auto data = the_device_allocator.allocate(bytes);
    std::memcpy(data.get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.set_data_ptr(std::move(data));
    storage.set_nbytes(bytes);
  }
};

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 6  // later releases ask the hooks
REGISTER_GENERATOR_PRIVATEUSE1(new_generator)
#endif

}  // namespace npu
