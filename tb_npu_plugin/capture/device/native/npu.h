// The simulated NPU: a device of PyTorch (PrivateUse1, renamed to "npu") whose memory is host memory.
//
// module.cpp includes the other files of this folder, so that the extension is one translation unit. What each file
// exports to the others is declared here.
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

// ---- records.cpp: the log of what the device did

enum class Kind : uint8_t {
  kOperator, kView, kCopy, kSync, kEventRecord, kStreamWait, kAllocate, kFree, kCollective, kCollectiveWait, kArrival,
};
// Record::detail of kCopy and kSync.
enum class Copy : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };
enum class Sync : uint8_t { kEvent, kStream, kDevice, kScalar, kCopy, kShape };
constexpr uint8_t kBackward = 4;  // of Record::flags: the call is part of a backward pass

// Moments: ns since the epoch. entry to begin and end to exit are what the call costs the host of a real device; begin
// to end is the computation on the CPU, which replaces that of the device.
struct Record {
  int64_t entry, begin, end, exit;
  int64_t stream;     // the stream's id; 0: the default stream
  int64_t id;         // memory: its address. event, wait for an event: the event's number. collective, arrival: its number
  int64_t bytes;      // memory: as asked for. copy: moved. arrival: ns by which the other rank came later than this one
  int64_t sequence;   // arrival: the other rank, counted in the group. Else -1
  int32_t signature;  // in the table of signatures; -1: none
  int32_t thread;     // as gettid() says
  int16_t device;
  Kind kind;
  uint8_t detail;
  uint8_t flags;
  uint8_t unused[3];
};
static_assert(sizeof(Record) == 80, "records.py has the same layout");

extern std::atomic<bool> recording;
int64_t now();                     // ns since the epoch; never goes back while recording
class Signature;
// Fills in thread, signature, and device and stream if device is -1.
void write(Record record, const Signature* signature = nullptr);
void write_moment(Kind kind, uint8_t detail, DeviceIndex device, int64_t stream, int64_t id = 0, int64_t bytes = 0);

// The arguments and results of an operator, as a JSON text (records.cpp).
class Signature {
 public:
  explicit Signature(const std::string& name);
  void add(const c10::IValue& value, bool with_numbers = true);
  void begin_results();
  void end();
  const std::string& text() const { return text_; }

 private:
  void add_number(int64_t number);
  void add_tensor(const at::Tensor& tensor);
  std::string text_;
};

// ---- guard.cpp: devices, streams and generators

int device_count();
void set_device_count(int count);
DeviceIndex current_device();
void set_device(DeviceIndex device);
int64_t current_stream(DeviceIndex device);
void set_stream(DeviceIndex device, int64_t stream);
DeviceIndex index_of(Device device);  // the current device where the device has no index
const at::Generator& default_generator(DeviceIndex device);
at::Generator new_generator(DeviceIndex device);
at::Generator host_generator(const at::Generator& generator);  // the CPU's one inside a device's

// ---- memory.cpp

struct MemoryCounters {
  std::atomic<int64_t> allocated{0}, allocated_peak{0}, reserved{0}, reserved_peak{0}, allocations{0}, frees{0};
  std::atomic<int64_t> limit{INT64_MAX};
};
MemoryCounters& memory_of(DeviceIndex device);
void empty_cache();
void reset_peaks(DeviceIndex device);
c10::Allocator* device_allocator();
c10::Allocator* pinned_allocator();
c10::DataPtr adopt(c10::DataPtr&& host, DeviceIndex device, int64_t bytes);  // host memory becomes device memory
bool is_pinned(const void* address);

// ---- views.cpp: host tensors that share the memory of device tensors

// While one is alive the thread computes on the host: no profiler events, no autograd, no autocast.
struct HostSection {
  HostSection();
  ~HostSection();
  static bool is_open();  // on this thread
  const int64_t begin;
  at::DisableRecordFunctionGuard quiet;
  c10::impl::ExcludeDispatchKeyGuard below;
};

// The record of one call in the making. A call inside the computation of another one is not recorded.
struct CallRecord : Record {
  explicit CallRecord(Kind kind);
  template <class Body>
  void compute(Body&& body) {
    if (is_recording) begin = now();
    {
      HostSection host;
      body();
    }
    if (is_recording) end = now();
  }
  void write_for(DeviceIndex device, Signature& call);  // only while recording
  void write_sync(Sync what) const;                     // the host waits behind it
  const bool is_recording;
};

int64_t computed();  // ns that this process has computed on the host for the device, one thread after the other

// One operator call: host views of its device tensors, and device tensors for its results.
class HostViews {
 public:
  explicit HostViews(bool any_device = false) : any_device_(any_device) {}
  at::Tensor host(const at::Tensor& device_tensor);
  at::Tensor device(const at::Tensor& host_tensor);
  void finish();  // takes over what the host computation resized
  DeviceIndex index() const { return index_ < 0 ? current_device() : index_; }
  void set_index(DeviceIndex index) { index_ = index; }

 private:
  at::Tensor sparse_host(const at::Tensor& device_tensor);
  at::Tensor sparse_device(const at::Tensor& host_tensor);
  c10::Storage host_storage(const c10::Storage& storage);
  c10::Storage device_storage(const c10::Storage& storage);

  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 8> tensors_;       // device, host
  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 8> storages_;  // device, host
  DeviceIndex index_ = -1;
  bool any_device_;
};

}  // namespace npu
