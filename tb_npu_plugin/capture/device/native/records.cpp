// The log: records of fixed size, and a table of signatures. device/records.py reads both.
//
// A signature is a JSON text: [name, [argument, ...], [result, ...]]. A tensor is {"shape": [2, 3], "dtype": "float",
// "device": 0}, with "is_number": true where it is a number of Python; dtype is the C++ name of the type, as in traces of
// PyTorch's profiler, device -1 the host. {} is a number whose value does not matter to the kernel.
#include "npu.h"

#include <pthread.h>
#include <pybind11/stl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>
#include <iomanip>
#include <mutex>
#include <sstream>
#include <unordered_map>

namespace npu {

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

std::atomic<bool> recording{false};

struct Log {
  std::mutex mutex;
  int64_t start = 0;    // of the recording
  int64_t ceiling = 0;  // bytes
  int64_t lost = 0;     // records that had no room
  std::deque<Record> records;
  std::unordered_map<std::string, int32_t> signatures;  // with their numbers
  int64_t signature_bytes = 0;                          // about

  bool has_room(int64_t bytes) const {
    return static_cast<int64_t>(records.size() * sizeof(Record)) + signature_bytes + bytes <= ceiling;
  }
  // -1: no room is left.
  int32_t number_of(const std::string& signature) {
    const auto found = signatures.find(signature);
    if (found != signatures.end()) return found->second;
    const auto bytes = static_cast<int64_t>(signature.size() + 100);
    if (!has_room(bytes)) return -1;
    signature_bytes += bytes;
    return signatures.emplace(signature, static_cast<int32_t>(signatures.size())).first->second;
  }
};

Log& log() {
  static Log* one = new Log;  // never destroyed: threads may write while the process ends
  return *one;
}

std::atomic<int64_t> clock_offset{0};
thread_local int32_t own_thread = 0;

int64_t steady() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ns since the epoch; never goes back while recording.
int64_t now() { return steady() + clock_offset.load(std::memory_order_relaxed); }

// The arguments and results of an operator, as a JSON text.
class Signature {
 public:
  explicit Signature(const std::string& name) {
    text_.reserve(512);
    text_.append("[\"").append(name).append("\",[");
  }
  Signature(const std::string& name, std::initializer_list<c10::IValue> arguments, std::initializer_list<c10::IValue> results)
      : Signature(name) {
    for (const auto& value : arguments) add(value);
    begin_results();
    for (const auto& value : results) add(value);
  }

  void begin_results() { text_ += "],["; }
  void end() { text_ += "]]"; }
  const std::string& text() const { return text_; }

  void add(const c10::IValue& value, bool with_numbers = true) {
    if (text_.back() != '[') text_ += ',';
    if (value.isTensor() && value.toTensor().defined()) {
      add_tensor(value.toTensor());
    } else if (value.isList()) {
      text_ += '[';
      for (const c10::IValue& item : value.toListRef()) add(item, with_numbers);
      text_ += ']';
    } else if (value.isTensor() || value.isNone()) {
      text_ += "null";
    } else if (value.isBool()) {
      text_ += value.toBool() ? "true" : "false";
    } else if (value.isInt() && with_numbers) {
      add_number(value.toInt());
    } else if (value.isString()) {
      std::ostringstream out;
      out << std::quoted(value.toStringRef());
      text_ += out.str();
    } else if (value.isDouble() && with_numbers && std::isfinite(value.toDouble())) {
      std::ostringstream out;
      out << std::setprecision(17) << value.toDouble();
      text_ += out.str();
    } else {
      text_ += "{}";
    }
  }

 private:
  void add_number(int64_t number) {
    std::array<char, 24> digits;
    text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
  }

  void add_tensor(const at::Tensor& tensor) {
    text_ += "{\"shape\":[";
    for (const int64_t size : tensor.sizes()) {
      if (text_.back() != '[') text_ += ',';
      add_number(size);
    }
    text_ += "],\"dtype\":\"";
    const auto type = tensor.dtype().name();
    text_.append(type.data(), type.size()).append("\",\"device\":");
    add_number(on_device(tensor) ? tensor.device().index() : -1);
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) text_ += ",\"is_number\":true";
    text_ += '}';
  }

  std::string text_;
};

// Fills in thread, signature, and device and stream if device is -1.
void write(Record record, const Signature* signature = nullptr) {
  if (own_thread == 0) own_thread = static_cast<int32_t>(syscall(SYS_gettid));
  record.thread = own_thread;
  if (record.device < 0) {
    record.device = current_device();
    record.stream = current_stream(record.device);
  }
  auto& to = log();
  std::lock_guard<std::mutex> lock(to.mutex);
  if (record.entry < to.start) return;  // it began before the recording
  if (!to.has_room(sizeof(Record))) {
    to.lost++;
    return;
  }
  record.signature = signature ? to.number_of(signature->text()) : -1;
  to.records.push_back(record);
}

void write_moment(Kind kind, uint8_t detail, DeviceIndex device, int64_t stream, int64_t id = 0, int64_t bytes = 0) {
  if (!recording.load(std::memory_order_relaxed)) return;
  auto at = now();
  write({at, at, at, at, stream, id, bytes, -1, -1, 0, device, kind, detail, 0, {}});
}

// ---- computation on the host in place of the device

std::atomic<int64_t> computed_ns{0};  // of this process, one thread after the other
thread_local int sections = 0;

// While one is alive the thread computes on the host: no profiler events, no autograd, no autocast.
struct HostSection {
  HostSection()
      : begin(sections++ ? 0 : now()), below(c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset) {}
  ~HostSection() {
    if (--sections == 0) computed_ns += now() - begin;
  }
  const int64_t begin;
  at::DisableRecordFunctionGuard quiet;
  c10::impl::ExcludeDispatchKeyGuard below;
};

// The record of one call in the making. A call inside the computation of another one is not recorded.
struct CallRecord : Record {
  explicit CallRecord(Kind kind) : is_recording(recording.load(std::memory_order_relaxed) && sections == 0) {
    if (is_recording) entry = now();
    sequence = -1;
    this->kind = kind;
  }

  template <class Body>
  void compute(Body&& body) {
    if (is_recording) begin = now();
    {
      HostSection host;
      body();
    }
    if (is_recording) end = now();
  }

  // Only while recording.
  void write_for(DeviceIndex index, Signature& call) {
    call.end();
    device = index;
    stream = current_stream(index);
    exit = now();
    write(*this, &call);
  }

  void write_copy(Copy direction, size_t size, DeviceIndex index, Signature& call) {
    bytes = static_cast<int64_t>(size);
    detail = static_cast<uint8_t>(direction);
    write_for(index, call);
  }

  // The host waits behind it.
  void write_sync(Sync what) const { write_moment(Kind::kSync, static_cast<uint8_t>(what), device, stream); }

  const bool is_recording;
};

// ---- functions of the Python module

void start_recording(int64_t ceiling) {
  // A forked child has its parent's memory but not its threads: nobody could release a lock that one of them held.
  static const bool registered = pthread_atfork([] { log().mutex.lock(); }, [] { log().mutex.unlock(); }, [] {
    log().mutex.unlock();
    recording = false;
    own_thread = 0;
  }) == 0;
  TORCH_CHECK(registered, "npu: fork handlers cannot be registered");
  auto& to = log();
  std::lock_guard<std::mutex> lock(to.mutex);
  to.records.clear();
  to.signatures.clear();
  to.lost = to.signature_bytes = 0;
  to.ceiling = ceiling;
  auto epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  clock_offset = epoch.count() - steady();
  to.start = now();
  recording = true;
}

void stop_recording() { recording = false; }

// The records since the last call, all signatures as a JSON list, and how many records had no room.
std::tuple<pybind11::bytes, std::string, int64_t> take_records() {
  auto& from = log();
  std::lock_guard<std::mutex> lock(from.mutex);
  std::string records;
  records.reserve(from.records.size() * sizeof(Record));
  for (const auto& record : from.records) records.append(reinterpret_cast<const char*>(&record), sizeof(Record));
  from.records.clear();
  std::vector<const std::string*> texts(from.signatures.size());
  for (const auto& [text, number] : from.signatures) texts[static_cast<size_t>(number)] = &text;
  std::string signatures = "[";
  for (const auto* text : texts) {
    if (signatures.back() != '[') signatures += ',';
    signatures += *text;
  }
  return {pybind11::bytes(records), signatures + "]", from.lost};
}

}  // namespace npu
