// Device memory: host memory with counters for each device. Pinned memory: host memory whose addresses are remembered.
#include "npu.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace npu {

constexpr int64_t kSegment = 2 << 20;

struct MemoryCounters {
  std::atomic<int64_t> allocated{0}, allocated_peak{0}, reserved{0}, reserved_peak{0}, allocations{0}, frees{0};
  std::atomic<int64_t> limit{INT64_MAX};
};
MemoryCounters counters[kMaxDevices];

// What the caching allocator of torch_npu takes for a request.
int64_t block_of(int64_t bytes) { return (bytes + 32 + 511) / 512 * 512; }

void raise_to(std::atomic<int64_t>& peak, int64_t value) {
  auto seen = peak.load();
  while (value > seen && !peak.compare_exchange_weak(seen, value)) continue;
}

int64_t segments_of(int64_t bytes) { return (bytes + kSegment - 1) / kSegment * kSegment; }

void require_room(DeviceIndex device, int64_t bytes) {
  auto& memory = counters[device];
  const auto used = memory.allocated.load(), limit = memory.limit.load();
  TORCH_CHECK_WITH(OutOfMemoryError, used + block_of(bytes) <= limit, "NPU out of memory. Tried to allocate ",
                   bytes / 1048576.0, " MiB. The simulated NPU ", static_cast<int>(device), " has ", limit / 1048576.0,
                   " MiB in all, of which ", used / 1048576.0, " MiB are allocated.");
}

// kind: kAllocate or kFree.
void count(Kind kind, DeviceIndex device, void* address, int64_t bytes) {
  auto& memory = counters[device];
  const bool is_free = kind == Kind::kFree;
  const auto allocated = memory.allocated += is_free ? -block_of(bytes) : block_of(bytes);
  (is_free ? memory.frees : memory.allocations)++;
  raise_to(memory.allocated_peak, allocated);
  raise_to(memory.reserved, segments_of(allocated));
  raise_to(memory.reserved_peak, memory.reserved.load());
  c10::reportMemoryUsageToProfiler(address, is_free ? -bytes : bytes, allocated, memory.reserved.load(), Device(kNpu, device));
  write_moment(kind, 0, device, current_stream(device), reinterpret_cast<int64_t>(address), bytes);
}

struct Block {
  c10::DataPtr host;
  DeviceIndex device;
  int64_t bytes;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  if (block->bytes) count(Kind::kFree, block->device, block->host.get(), block->bytes);
  delete block;
}

// Host memory becomes device memory.
c10::DataPtr adopt(c10::DataPtr&& host, DeviceIndex device, int64_t bytes) {
  auto* address = host.get();
  if (bytes) count(Kind::kAllocate, device, address, bytes);
  return {address, new Block{std::move(host), device, bytes}, &free_block, Device(kNpu, device)};
}

void empty_cache() {
  for (auto& memory : counters) memory.reserved = segments_of(memory.allocated.load());
}

void reset_peaks(DeviceIndex device) {
  auto& memory = counters[device];
  memory.allocated_peak = memory.allocated.load();
  memory.reserved_peak = memory.reserved.load();
}

// The base of later releases lets torch.accelerator read and reset the counters.
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
struct CountingAllocator : c10::DeviceAllocator {
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { empty_cache(); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  void resetAccumulatedStats(DeviceIndex) override {}
  void resetPeakStats(DeviceIndex device) override { reset_peaks(device); }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) {  // not virtual in 2.9
    const auto& memory = counters[device];
    return {memory.limit - memory.reserved, memory.limit};
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override {
    const auto& memory = counters[device];
    c10::CachingDeviceAllocator::DeviceStats out;
    constexpr auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    for (auto* bytes : {&out.allocated_bytes, &out.active_bytes, &out.requested_bytes}) {
      (*bytes)[all].current = memory.allocated;
      (*bytes)[all].peak = memory.allocated_peak;
    }
    out.reserved_bytes[all].current = memory.reserved;
    out.reserved_bytes[all].peak = memory.reserved_peak;
    out.allocation[all].current = memory.allocations - memory.frees;
    out.allocation[all].allocated = memory.allocations;
    out.allocation[all].freed = memory.frees;
    return out;
  }
};
#else
using CountingAllocator = c10::Allocator;
#endif

struct DeviceAllocator final : CountingAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const auto device = current_device();
    require_room(device, static_cast<int64_t>(bytes));
    return adopt(c10::GetCPUAllocator()->allocate(bytes), device, static_cast<int64_t>(bytes));
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};
DeviceAllocator the_device_allocator;
REGISTER_ALLOCATOR(kNpu, &the_device_allocator);

std::shared_mutex pinned_mutex;
std::unordered_map<const void*, size_t>& pinned_blocks() {
  static auto* blocks = new std::unordered_map<const void*, size_t>;  // freed tensors outlive static objects
  return *blocks;
}

struct PinnedAllocator final : c10::Allocator {
  static void free(void* context) {
    const std::unique_ptr<c10::DataPtr> host(static_cast<c10::DataPtr*>(context));
    std::unique_lock<std::shared_mutex> lock(pinned_mutex);
    pinned_blocks().erase(host->get());
  }
  c10::DataPtr allocate(size_t bytes) override {
    auto* host = new c10::DataPtr(c10::GetCPUAllocator()->allocate(std::max<size_t>(bytes, 1)));
    std::unique_lock<std::shared_mutex> lock(pinned_mutex);
    pinned_blocks()[host->get()] = bytes;
    return {host->get(), host, &PinnedAllocator::free, Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
};
PinnedAllocator the_pinned_allocator;

// A view may begin inside a pinned block, but its storage begins where the block does.
bool is_pinned(const void* address) {
  std::shared_lock<std::shared_mutex> lock(pinned_mutex);
  return pinned_blocks().count(address) > 0;
}

}  // namespace npu
