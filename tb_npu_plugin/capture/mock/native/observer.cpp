// The shapes of the operators that PyTorch runs, told while it runs them.
//
// PyTorch's profiler tells shapes as texts that it makes of each call when it stops, which takes longer than it took to
// record them. Here calls with the same arguments share one text, so that a call costs a look-up. This is a part of the
// PyTorch that it was built against; capture/mock/observer.py says when it is used, and reads what stop() returns:
//
//   [[tid, [call, ...], [number, ...]], ...]   a thread's different calls, and which of them it ran, in order of their start
//   call: [name, argument, ...]
//   argument: [type, size, ...] a tensor, {"tensors": [tensor, ...]}, a number, true, false, [number, ...], null: other
//
// start() and stop() are called with the GIL; observe() by any thread, without it.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <torch/version.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

// The calls of one thread. The mutex keeps the thread and stop() apart.
struct Calls {
  std::mutex mutex;
  int64_t tid = 0;
  std::unordered_map<std::string, uint32_t> numbers;  // by text
  std::vector<const std::string*> texts;
  std::vector<uint32_t> order;
};

// All that lasts is never destroyed: threads may call operators while the process ends.
std::mutex& all_mutex = *new std::mutex;
std::vector<std::shared_ptr<Calls>>& all = *new std::vector<std::shared_ptr<Calls>>;
// Which recording runs, 0: none. What a thread holds of an earlier one is not continued.
std::atomic<uint64_t> current{0};
std::atomic<bool> failed{false};
uint64_t last = 0;
at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

struct Mine {
  uint64_t recording = 0;
  std::shared_ptr<Calls> calls;
  std::string text;  // kept for its memory
};
thread_local Mine mine;

void add(std::string& text, int64_t number) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void add(std::string& text, std::string_view name) {
  text += '"';
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  text += '"';
}

// Numbers with commas between them, and one before the first where something stands before it.
template <typename Numbers>
void add_all(std::string& text, const Numbers& numbers, bool comma) {
  for (const int64_t number : numbers) {
    if (comma) text += ',';
    add(text, number);
    comma = true;
  }
}

void add(std::string& text, const at::Tensor& tensor) {
  // Sizes that are nested or symbolic cannot be asked for. PyTorch's profiler tells nothing of such tensors, either.
  if (!tensor.defined() || tensor.is_nested() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    text += "null";
    return;
  }
  const auto type = c10::scalarTypeToTypeMeta(tensor.scalar_type()).name();  // a view of PyTorch's own, up to 2.5
  text += '[';
  add(text, std::string_view(type.data(), type.size()));
  add_all(text, tensor.sizes(), true);
  text += ']';
}

void add(std::string& text, const c10::IValue& value) {
  if (value.isTensor()) {
    add(text, value.toTensor());
  } else if (value.isTensorList()) {
    text += "{\"tensors\":[";
    bool comma = false;
    for (const at::Tensor& tensor : value.toTensorList()) {
      if (comma) text += ',';
      add(text, tensor);
      comma = true;
    }
    text += "]}";
  } else if (value.isInt()) {
    add(text, value.toInt());
  } else if (value.isBool()) {
    text += value.toBool() ? "true" : "false";
  } else if (value.isIntList()) {
    text += '[';
    add_all(text, value.toIntList(), false);
    text += ']';
  } else {
    text += "null";
  }
}

void add_argument(std::string& text, const c10::IValue& value) {
  text += ',';
  const size_t begin = text.size();
  try {
    add(text, value);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // a tensor of somebody's own kind that does not tell its sizes
    text.resize(begin);
    text += "null";
  }
}

// The calls of this thread in this recording; nullptr: it has ended.
Calls* calls_of(uint64_t recording) {
  if (mine.recording != recording) {
    auto calls = std::make_shared<Calls>();
    calls->tid = static_cast<int64_t>(syscall(SYS_gettid));
    const std::lock_guard<std::mutex> lock(all_mutex);
    if (recording != current) return nullptr;
    all.push_back(calls);
    mine.recording = recording;
    mine.calls = std::move(calls);
  }
  return mine.calls.get();
}

std::unique_ptr<at::ObserverContext> observe(const at::RecordFunction& call) {
  const uint64_t recording = current;
  if (recording == 0) return nullptr;
  try {
    Calls* const calls = calls_of(recording);
    if (calls == nullptr) return nullptr;
    // Tensors in Python may run Python, and operators, to tell their sizes: so no lock yet, and the text is taken away.
    std::string text = std::move(mine.text);
    text = "[";
    add(text, std::string_view(call.name()));
    for (const c10::IValue& value : call.inputs()) add_argument(text, value);
    text += ']';
    const std::lock_guard<std::mutex> lock(calls->mutex);
    const auto [found, is_new] = calls->numbers.try_emplace(text, static_cast<uint32_t>(calls->texts.size()));
    if (is_new) calls->texts.push_back(&found->first);
    calls->order.push_back(found->second);
    mine.text = std::move(text);
  } catch (...) {  // no memory: training goes on, and stop() says so
    failed = true;
    current = 0;
  }
  return nullptr;
}

// -- of the process that forks, and of its child, which is not observed -------------------------------------------
void before_fork() { all_mutex.lock(); }
void after_fork_in_parent() { all_mutex.unlock(); }
void after_fork_in_child() {
  current = 0;
  all.clear();  // of the parent's threads: who held the mutex of one is not there to let it go
  all_mutex.unlock();
}

void remove_callback() {
  if (handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(handle);
  handle = at::INVALID_CALLBACK_HANDLE;
}

std::vector<std::shared_ptr<Calls>> end() {
  current = 0;
  remove_callback();
  std::vector<std::shared_ptr<Calls>> ended;
  const std::lock_guard<std::mutex> lock(all_mutex);
  ended.swap(all);
  return ended;
}

std::string written(const std::vector<std::shared_ptr<Calls>>& threads) {
  std::string out = "[";
  for (const auto& calls : threads) {
    const std::lock_guard<std::mutex> lock(calls->mutex);
    if (out.size() > 1) out += ',';
    out += '[';
    add(out, calls->tid);
    out += ",[";
    for (const std::string* text : calls->texts) {
      if (text != calls->texts.front()) out += ',';
      out += *text;
    }
    out += "],[";
    add_all(out, calls->order, false);
    out += "]]";
  }
  out += ']';
  return out;
}

PyObject* failure(const std::exception& problem) {
  PyErr_SetString(PyExc_RuntimeError, problem.what());
  return nullptr;
}

PyObject* start(PyObject*, PyObject*) {
  try {
    end();
    failed = false;
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(observe).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    current = ++last;
  } catch (const std::exception& problem) {
    return failure(problem);
  }
  Py_RETURN_NONE;
}

PyObject* stop(PyObject*, PyObject*) {
  try {
    const auto threads = end();
    if (failed) return PyErr_NoMemory();
    const std::string text = written(threads);
    return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  } catch (const std::exception& problem) {
    return failure(problem);
  }
}

PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, nullptr}, {"stop", stop, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_observer", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__observer() {
  PyObject* const module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  if (PyModule_AddStringConstant(module, "TORCH_VERSION", TORCH_VERSION) < 0 ||
      pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
