// Operators without a kernel for the device: the host computes them on views of the device's memory; each is one record.
#include "npu.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace npu {

// What the schema and the tags of an operator say.
struct Operator {
  std::string name;
  std::vector<bool> is_written;    // by argument
  std::vector<bool> is_number;     // by argument: a Scalar, whose value changes no kernel
  int generator = -1;              // the argument that is a Generator
  int output_size = -1;            // the argument that names the length of the result, so that the host need not wait for it
  bool is_view = false;            // launches nothing
  bool has_dynamic_shape = false;  // the host must wait for the length of the result
  bool takes_mask = false;         // only where an index is a mask
  bool takes_host_tensors = false;

  explicit Operator(const c10::OperatorHandle& op) : name(op.operator_name().name) {
    // Indices may be on the host, and so are the lengths of packed sequences.
    static const std::unordered_set<std::string> host_tensors = {
        "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
        "aten::_unsafe_index_put", "aten::_unsafe_masked_index", "aten::_foreach_copy_"};
    takes_host_tensors = host_tensors.count(name) > 0;
    has_dynamic_shape = op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
    takes_mask = name == "aten::index" || name == "aten::_unsafe_index";
    is_view = op.hasTag(at::Tag::inplace_view);
    for (const auto& result : op.schema().returns()) {
      if (result.alias_info() && !result.alias_info()->isWrite()) is_view = true;
    }
    const bool is_power = name.find("pow") != std::string::npos;  // a square is another kernel than a power
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); i++) {
      auto type = arguments[i].type();
      if (auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
      if (type->kind() == c10::TypeKind::GeneratorType) generator = static_cast<int>(i);
      if (arguments[i].name() == "output_size" && has_dynamic_shape) output_size = static_cast<int>(i);
      is_number.push_back(is_view || (!is_power && (type->kind() == c10::TypeKind::NumberType || type->kind() == c10::TypeKind::FloatType)));
      is_written.push_back(arguments[i].alias_info() && arguments[i].alias_info()->isWrite());
    }
    if (!op.operator_name().overload_name.empty()) name += "." + op.operator_name().overload_name;
  }
};

const Operator& describe(const c10::OperatorHandle& op) {
  static thread_local std::unordered_map<const void*, Operator> known;
  return known.try_emplace(&op.operator_name(), op).first->second;
}

// The arguments and results of one call, on their way to the host and back.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : op_(op), about_(describe(op)), stack_(*stack), first_(stack->size() - op.schema().arguments().size()) {}

  void run(DispatchKey host_key) {
    CallRecord record(about_.is_view ? Kind::kView : Kind::kOperator);
    // The arguments are described before they become host tensors.
    std::optional<Signature> signature;
    if (record.is_recording) {
      signature.emplace(about_.name);
      for (size_t i = first_; i < stack_.size(); i++) signature->add(stack_[i], !about_.is_number[i - first_]);
    }
    for (size_t i = first_; i < stack_.size(); i++) to_host(stack_[i], i - first_);
    TORCH_CHECK(!host_tensor_ || about_.takes_host_tensors,
                "Expected all tensors to be on the same device, but found at least two devices, npu:",
                static_cast<int>(views_.index()), " and cpu! (when checking the arguments of ", about_.name, ")");
    TORCH_CHECK_NOT_IMPLEMENTED(op_.hasComputedKernelForDispatchKey(host_key), "The simulated NPU has no ", about_.name,
                                ": PyTorch has no CPU kernel that could compute it.");
    record.compute([&] { compute(host_key); });
    views_.finish();
    for (size_t i = first_; i < stack_.size(); i++) to_device(stack_[i]);
    if (!signature) return;
    signature->begin_results();
    for (size_t i = first_; i < stack_.size(); i++) signature->add(stack_[i], false);
    if (torch::autograd::get_current_node()) record.flags |= kBackward;
    record.write_for(views_.index(), *signature);
    if (about_.has_dynamic_shape && !sized_ && (!about_.takes_mask || mask_)) record.write_sync(Sync::kShape);
  }

 private:
  at::Tensor to_host(const at::Tensor& tensor, size_t argument) {
    if (!tensor.defined()) return tensor;
    if (on_device(tensor)) {
      mask_ |= tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
      return views_.host(tensor);
    }
    if (tensor.dim() > 0 || about_.is_written[argument]) host_tensor_ = true;
    return tensor;
  }

  void to_host(c10::IValue& value, size_t argument) {
    if (value.isTensor()) {
      value = to_host(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      auto tensors = value.toTensorVector();
      for (auto& tensor : tensors) tensor = to_host(tensor, argument);
      value = c10::IValue(std::move(tensors));
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> out;
      mask_ = false;  // only what follows: the indices
      for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
        out.push_back(tensor ? std::optional<at::Tensor>(to_host(*tensor, argument)) : std::nullopt);
      }
      value = std::move(out);
    } else if (value.isDevice() && value.toDevice().type() == kNpu) {
      views_.set_index(index_of(value.toDevice()));
      value = Device(c10::kCPU);
    } else if (static_cast<int>(argument) == about_.generator) {
      if (value.isNone()) {
        value = host_generator(default_generator(views_.index()));
      } else if (value.toGenerator().device().type() == kNpu) {
        value = host_generator(value.toGenerator());
      }
    } else if (static_cast<int>(argument) == about_.output_size) {
      sized_ = !value.isNone();
    }
  }

  void to_device(c10::IValue& value) {
    if (value.isTensor()) {
      value = views_.device(value.toTensor());
    } else if (value.isTensorList()) {
      auto tensors = value.toTensorVector();
      for (auto& tensor : tensors) tensor = views_.device(tensor);
      value = c10::IValue(std::move(tensors));
    }
  }

  // Runs the CPU's kernel. It lacks a few types that devices have (histc of integers, pooling of half): those go through float.
  void compute(DispatchKey host_key) {
    const torch::jit::Stack arguments(stack_.begin() + static_cast<std::ptrdiff_t>(first_), stack_.end());
    try {
      op_.redispatchBoxed(DispatchKeySet(host_key), &stack_);
    } catch (const c10::Error& error) {  // its class depends on the version
      if (std::string(error.what_without_backtrace()).find("not implemented for '") == std::string::npos) throw;
      const auto is = [](const c10::IValue& value, auto has_type) {
        return value.isTensor() && value.toTensor().defined() && has_type(value.toTensor().scalar_type());
      };
      const auto any_is = [&](auto has_type) {
        return std::any_of(arguments.begin(), arguments.end(), [&](const c10::IValue& value) { return is(value, has_type); });
      };
      const bool is_half = any_is(at::isReducedFloatingType);
      const auto lacks = [&](at::ScalarType type) { return is_half ? at::isReducedFloatingType(type) : at::isIntegralType(type, true); };
      if (op_.schema().is_mutable() || !any_is(lacks)) throw;
      auto type = at::kFloat;
      stack_.resize(first_);
      for (const auto& value : arguments) {
        if (is(value, lacks)) type = value.toTensor().scalar_type();
        stack_.push_back(is(value, lacks) ? c10::IValue(value.toTensor().to(at::kFloat)) : value);
      }
      op_.redispatchBoxed(DispatchKeySet(host_key), &stack_);
      for (size_t i = first_; i < stack_.size(); i++) {
        if (is(stack_[i], [](at::ScalarType found) { return found == at::kFloat; })) stack_[i] = stack_[i].toTensor().to(type);
      }
    }
  }

  const c10::OperatorHandle& op_;
  const Operator& about_;
  torch::jit::Stack& stack_;
  const size_t first_;  // place of the first argument, then of the first result
  HostViews views_{false};
  bool host_tensor_ = false, mask_ = false, sized_ = false;
};

template <DispatchKey host>
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  Call(op, stack).run(host);
}

template <DispatchKey host>
torch::CppFunction fallback_to() {
  return torch::CppFunction::makeFromBoxedFunction<&fallback<host>>();
}

// Registers the fallback for the operators of `host` that PyTorch would run as several others on a device without kernels.
template <DispatchKey key, DispatchKey host>
void take() {
  auto* library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto add = [&](const c10::OperatorName& name) {
    const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    library->impl(full.substr(6).c_str(), fallback_to<host>());  // without "aten::"
  };
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(host)) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findOp(name);
    const bool is_composite = op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
                              op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
    if (is_composite && !op->hasKernelForDispatchKey(key)) add(name);
  }
  if (key != DispatchKey::PrivateUse1) return;
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(DispatchKey::CompositeExplicitAutograd)) {
    if (name.name.rfind("aten::_foreach_", 0) != 0) continue;
    const auto op = dispatcher.findOp(name);
    if (!op->hasKernelForDispatchKey(key) && !op->hasKernelForDispatchKey(host)) add(name);
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(fallback_to<DispatchKey::CPU>()); }
TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { m.fallback(fallback_to<DispatchKey::SparseCPU>()); }

void take_operators() {
  if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(DispatchKey::AutogradPrivateUse1)) {  // PyTorch 2.4
    auto* library = new torch::Library(torch::Library::IMPL, "_", DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFallthrough());
  }
  take<DispatchKey::PrivateUse1, DispatchKey::CPU>();
  take<DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU>();
}

}  // namespace npu
