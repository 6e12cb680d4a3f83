// The log: records of fixed size in chunks, and a table of signatures. device/records.py reads both.
//
// A signature is a list of 64-bit words: the number of a name, then one group of words for each argument and, behind a
// word kResults, for each result. The low byte of a group's first word is its tag:
//   kNone                 nothing
//   kTensor               | type << 8 | (device + 1) << 16 (0: host) | flags << 24 | dimensions << 32; then the sizes.
//                         type: c10::ScalarType; flags: 1 contiguous, 2 a number of Python
//   kList                 | count << 32; then that many groups
//   kInt, kBool, kDouble  then the value (kDouble: its bits)
//   kInts                 | count << 32; then the values
//   kText                 | number of the text << 32
//   kScalar               a number whose value does not matter to the kernel
#include "npu.h"

#include <ATen/SequenceNumber.h>
#include <c10/util/Exception.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace npu {

enum Tag : int64_t { kNone, kTensor, kList, kInt, kBool, kDouble, kInts, kText, kScalar, kResults };

std::atomic<bool> recording{false};

namespace {

constexpr size_t kChunk = 8192;  // records
using Chunk = std::unique_ptr<Record[]>;

struct Log {
  std::mutex mutex;
  std::deque<Chunk> chunks;
  size_t last = 0;                // records in the last chunk
  int64_t used = 0, ceiling = 0;  // bytes
  int64_t lost = 0;               // records that had no room
  std::vector<std::string> names;
  std::unordered_map<std::string, int64_t> name_numbers;
  std::vector<int64_t> words;     // all signatures, one after the other
  std::vector<int64_t> ends;      // of each signature in words
  std::unordered_map<std::string, int32_t> signatures;
};
Log& log() {
  static Log* one = new Log;  // never destroyed: threads may write while the process ends
  return *one;
}

std::atomic<int64_t> clock_offset{0};
std::atomic<uint32_t> generation{0};  // of the table of signatures
thread_local int32_t own_thread = 0;
// Table of signatures that the thread's last signature counts in: what began before a recording does not fit its table.
thread_local uint32_t own_generation = 0;

int64_t steady() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The signatures that this thread has used, so that a known one costs no lock.
struct Known {
  uint32_t generation = 0;
  std::unordered_map<std::string, int32_t> signatures;
  std::unordered_map<std::string, int64_t> names;
};
Known& known() {
  static thread_local Known own;
  auto current = generation.load();
  if (own.generation != current) {
    own.signatures.clear();
    own.names.clear();
    own.generation = current;
  }
  return own;
}

int64_t name_number(const std::string& name) {
  auto& own = known().names;
  auto found = own.find(name);
  if (found != own.end()) return found->second;
  std::lock_guard<std::mutex> lock(log().mutex);
  auto added = log().name_numbers.emplace(name, static_cast<int64_t>(log().names.size()));
  if (added.second) log().names.push_back(name);
  return own[name] = added.first->second;
}

// A forked child has its parent's memory but not its threads: nobody could release a lock that one of them held.
void before_fork() { log().mutex.lock(); }
void after_fork_in_parent() { log().mutex.unlock(); }
void after_fork_in_child() {
  log().mutex.unlock();
  recording = false;
  own_thread = 0;
}

}  // namespace

int64_t now() { return steady() + clock_offset.load(std::memory_order_relaxed); }

void write(Record&& record) {
  if (own_thread == 0) own_thread = static_cast<int32_t>(syscall(SYS_gettid));
  record.thread = own_thread;
  if (record.device < 0) {
    record.device = current_device();
    record.stream = current_stream(record.device);
  }
  auto& to = log();
  std::lock_guard<std::mutex> lock(to.mutex);
  if (record.signature >= 0 && own_generation != generation.load()) return;
  if (to.chunks.empty() || to.last == kChunk) {
    constexpr auto size = static_cast<int64_t>(kChunk * sizeof(Record));
    if (to.used + size > to.ceiling) {
      to.lost++;
      return;
    }
    to.chunks.emplace_back(new Record[kChunk]);
    to.used += size;
    to.last = 0;
  }
  to.chunks.back()[to.last++] = record;
}

void write_moment(Kind kind, uint8_t detail, DeviceIndex device, int64_t stream, int64_t id, int64_t bytes) {
  if (!recording.load(std::memory_order_relaxed)) return;
  auto at = now();
  write({at, at, at, at, stream, id, bytes, -1, -1, 0, device, kind, detail, 0, {}});
}

// ---- signatures

static std::vector<int64_t>& scratch() {
  static thread_local std::vector<int64_t> words;
  return words;
}

Signature::Signature(const std::string& name) : words_(scratch()) {
  own_generation = generation.load();
  words_.clear();
  words_.push_back(name_number(name));
}

void Signature::begin_results() { words_.push_back(kResults); }
void Signature::add(const std::string& text) { words_.push_back(kText | name_number(text) << 32); }

void Signature::add(int64_t number) {
  words_.push_back(kInt);
  words_.push_back(number);
}

void Signature::add(const std::vector<int64_t>& numbers) {
  words_.push_back(kInts | static_cast<int64_t>(numbers.size()) << 32);
  words_.insert(words_.end(), numbers.begin(), numbers.end());
}

void Signature::add(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    words_.push_back(kNone);
    return;
  }
  auto sizes = tensor.sizes();
  const int64_t device = on_device(tensor) ? tensor.device().index() + 1 : 0;
  const bool dense = tensor.layout() == at::kStrided;
  const int64_t flags = (dense && tensor.is_contiguous() ? 1 : 0) | (tensor.unsafeGetTensorImpl()->is_wrapped_number() ? 2 : 0);
  words_.push_back(kTensor | static_cast<int64_t>(tensor.scalar_type()) << 8 | device << 16 | flags << 24 |
                   static_cast<int64_t>(sizes.size()) << 32);
  words_.insert(words_.end(), sizes.begin(), sizes.end());
}

void Signature::add(const std::vector<at::Tensor>& tensors) {
  words_.push_back(kList | static_cast<int64_t>(tensors.size()) << 32);
  for (const auto& tensor : tensors) add(tensor);
}

void Signature::add(const c10::IValue& value, bool with_numbers) {
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isTensorList()) {
    const auto tensors = value.toTensorList();
    words_.push_back(kList | static_cast<int64_t>(tensors.size()) << 32);
    for (const auto& tensor : value.toTensorVector()) add(tensor);
  } else if (value.isOptionalTensorList()) {
    const auto tensors = value.toOptionalTensorList();
    words_.push_back(kList | static_cast<int64_t>(tensors.size()) << 32);
    for (const std::optional<at::Tensor> tensor : tensors) add(tensor.value_or(at::Tensor()));
  } else if (value.isNone()) {
    words_.push_back(kNone);
  } else if (value.isBool()) {
    words_.push_back(kBool);
    words_.push_back(value.toBool());
  } else if (value.isInt() && with_numbers) {
    add(value.toInt());
  } else if (value.isDouble() && with_numbers) {
    int64_t bits = 0;
    const double number = value.toDouble();
    std::memcpy(&bits, &number, sizeof(bits));
    words_.push_back(kDouble);
    words_.push_back(bits);
  } else if (value.isIntList() && with_numbers) {
    const auto numbers = value.toIntList();
    words_.push_back(kInts | static_cast<int64_t>(numbers.size()) << 32);
    for (const int64_t number : numbers) words_.push_back(number);
  } else if (value.isString()) {
    add(value.toStringRef());
  } else {
    words_.push_back(kScalar);
  }
}

int32_t Signature::number() const {
  static thread_local std::string key;
  key.assign(reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(int64_t));
  auto& own = known().signatures;
  if (own_generation != known().generation) return -1;
  auto found = own.find(key);
  if (found != own.end()) return found->second;
  auto& to = log();
  std::lock_guard<std::mutex> lock(to.mutex);
  if (own_generation != generation.load()) return -1;
  auto added = to.signatures.emplace(key, static_cast<int32_t>(to.ends.size()));
  if (added.second) {
    const auto size = static_cast<int64_t>(2 * key.size() + 100);  // words and key, about
    if (to.used + size > to.ceiling) {
      to.signatures.erase(added.first);
      return -1;
    }
    to.used += size;
    to.words.insert(to.words.end(), words_.begin(), words_.end());
    to.ends.push_back(static_cast<int64_t>(to.words.size()));
  }
  return own[key] = added.first->second;
}

// ---- what module.cpp hands out

void start_recording(int64_t ceiling) {
  static const bool registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  TORCH_CHECK(registered, "npu: fork handlers cannot be registered");
  auto& to = log();
  std::lock_guard<std::mutex> lock(to.mutex);
  to.chunks.clear();
  to.names.clear();
  to.name_numbers.clear();
  to.words.clear();
  to.ends.clear();
  to.signatures.clear();
  to.used = to.lost = 0;
  to.last = 0;
  to.ceiling = ceiling;
  generation++;
  auto epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  clock_offset = epoch.count() - steady();
  recording = true;
}

void stop_recording() { recording = false; }

// The records since the last call, whole table of names and signatures with them.
struct Content {
  std::string records;
  std::vector<std::string> names;
  std::string words, ends;
  int64_t lost;
};

Content take_content() {
  auto& from = log();
  std::lock_guard<std::mutex> lock(from.mutex);
  Content out;
  for (size_t i = 0; i < from.chunks.size(); i++) {
    const size_t count = i + 1 < from.chunks.size() ? kChunk : from.last;
    out.records.append(reinterpret_cast<const char*>(from.chunks[i].get()), count * sizeof(Record));
  }
  from.used -= static_cast<int64_t>(from.chunks.size() * kChunk * sizeof(Record));
  from.chunks.clear();
  from.last = 0;
  out.names = from.names;
  out.words.assign(reinterpret_cast<const char*>(from.words.data()), from.words.size() * sizeof(int64_t));
  out.ends.assign(reinterpret_cast<const char*>(from.ends.data()), from.ends.size() * sizeof(int64_t));
  out.lost = from.lost;
  return out;
}

}  // namespace npu
