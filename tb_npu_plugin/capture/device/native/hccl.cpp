// The backend "hccl" of torch.distributed: collectives run on the host, over another backend (gloo), when they are called.
// Sends and receives end later, since two ranks may send to each other before they receive.
#include "npu.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>
#include <functional>

namespace npu {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using c10d::Backend;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Works = std::vector<WorkPtr>;

Tensor host_of(const Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
  if (!on_device(tensor)) return tensor;
  HostViews views;
  return views.host(tensor);
}

// Its bytes, for operations that only move them: any type will do.
Tensor bytes_of(const Tensor& tensor) { return host_of(tensor).view({-1}).view(at::kByte); }
template <class Item>
std::vector<Item> bytes_of(const std::vector<Item>& items) {  // tensors, or lists of them
  std::vector<Item> out;
  for (const auto& item : items) out.push_back(bytes_of(item));
  return out;
}

// For reductions.
Tensor numbers_of(const Tensor& tensor) {
  auto host = host_of(tensor);
  return host.scalar_type() == at::kBool ? host.view(at::kByte) : host;
}

Tensor flatten(Tensors tensors) {
  for (auto& tensor : tensors) tensor = tensor.view({-1});
  return at::cat(tensors);
}

// A collective that has run, or transfers (`inner`) that may still run.
struct HcclWork final : c10d::Work {
  HcclWork(int64_t number, Tensors results, Tensors kept, Works inner)
      : number(number), results(std::move(results)), kept(std::move(kept)), inner(std::move(inner)) {
    if (this->inner.empty()) finish();
  }
  bool isCompleted() override { return std::all_of(inner.begin(), inner.end(), std::mem_fn(&Work::isCompleted)); }
  bool isSuccess() const override { return std::all_of(inner.begin(), inner.end(), std::mem_fn(&Work::isSuccess)); }
  int sourceRank() const override { return inner.empty() ? Work::sourceRank() : inner[0]->sourceRank(); }
  void synchronize() override { wait(kNoTimeout); }
  Tensors result() override { return results; }
  bool wait(std::chrono::milliseconds timeout) override {
    const auto begin = now();
    bool done = true;
    for (const auto& work : inner) done = work->wait(timeout) && done;
    const auto end = now();
    if (recording.load(std::memory_order_relaxed)) {
      write({begin, begin, end, end, 0, number, 0, -1, -1, 0, -1, Kind::kCollectiveWait, 0, 0, {}});
    }
    return done;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    if (!inner.empty()) return inner[0]->getFuture();
    const auto on_npu = std::find_if(results.begin(), results.end(), on_device);
    const auto devices = on_npu == results.end() ? std::vector<Device>() : std::vector<Device>{on_npu->device()};
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
    future->markCompleted(c10::IValue(results));
    return future;
  }
  const int64_t number;
  const Tensors results, kept;
  const Works inner;
};

// What batch_isend_irecv has collected: tensors, and the peer of each.
struct Batch {
  Tensors sent, received;
  std::vector<int64_t> to, from;
  Works works;
};

std::atomic<int64_t> next_number{1};

class Hccl final : public Backend {
 public:
  Hccl(c10::intrusive_ptr<Backend> inner, std::string group, int rank, int size)
      : Backend(rank, size), inner_(std::move(inner)), group_(std::move(group)) {}
  const std::string getBackendName() const override { return "hccl"; }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return run("hccl::broadcast", tensors, tensors, [&] { wait_for(&Backend::broadcast, bytes_of(tensors), options); });
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return run("hccl::allreduce", tensors, tensors, [&] { reduce_all(tensors, options.reduceOp); });
  }
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return allreduce(tensors, options);
  }
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return run("hccl::reduce", tensors, tensors, [&] {
      Tensors host = {numbers_of(tensors[0]).clone()};
      reduce_all(host, options.reduceOp);
      if (getRank() == options.rootRank) numbers_of(tensors[0]).copy_(host[0]);
    });
  }

  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions&) override {
    return run("hccl::allgather", inputs, outputs[0], [&] { gather_all(bytes_of(outputs[0]), inputs[0]); });
  }
  WorkPtr _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
    Tensors outputs = {output}, inputs = {input};
    return allgather_into_tensor_coalesced(outputs, inputs, options);
  }
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions&) override {
    return run("hccl::allgather", inputs, outputs, [&] {
      for (size_t i = 0; i < outputs.size(); i++) {
        gather_all(bytes_of(outputs[i]).view({getSize(), -1}).unbind(0), inputs[i]);
      }
    });
  }
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    return run("hccl::gather", inputs, outputs.empty() ? Tensors() : outputs[0],
               [&] { wait_for(&Backend::gather, bytes_of(outputs), bytes_of(inputs), options); });
  }
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
    return run("hccl::scatter", inputs.empty() ? Tensors() : inputs[0], outputs,
               [&] { wait_for(&Backend::scatter, bytes_of(outputs), bytes_of(inputs), options); });
  }

  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override {
    return run("hccl::reduce_scatter", inputs[0], outputs, [&] {
      Tensors parts;
      for (const auto& tensor : inputs[0]) parts.push_back(numbers_of(tensor));
      int64_t offset = 0;
      for (int rank = 0; rank < getRank(); rank++) offset += parts[rank].numel();
      scatter_reduced(outputs[0], flatten(parts), offset, options.reduceOp);
    });
  }
  WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input, const c10d::ReduceScatterOptions& options) override {
    Tensors outputs = {output}, inputs = {input};
    return reduce_scatter_tensor_coalesced(outputs, inputs, options);
  }
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override {
    return run("hccl::reduce_scatter", inputs, outputs, [&] {
      for (size_t i = 0; i < outputs.size(); i++) {
        scatter_reduced(outputs[i], numbers_of(inputs[i]).view({-1}).clone(), getRank() * outputs[i].numel(), options.reduceOp);
      }
    });
  }

  WorkPtr alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_split, std::vector<int64_t>& input_split,
                        const c10d::AllToAllOptions& options) override {
    const bool is_even = output_split.empty() && input_split.empty();
    const auto body = [&] {
      wait_for(&Backend::alltoall_base, host_of(output), host_of(input), output_split, input_split, options);
    };
    return run(is_even ? "hccl::alltoall" : "hccl::alltoallv", {input}, {output}, body);
  }
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return run("hccl::alltoallv", inputs, outputs, [&] {
      auto to = bytes_of(outputs), from = bytes_of(inputs);
      auto flat_to = flatten(to), flat_from = flatten(from);
      std::vector<int64_t> output_split, input_split;
      for (const auto& tensor : to) output_split.push_back(tensor.numel());
      for (const auto& tensor : from) input_split.push_back(tensor.numel());
      const auto parts = flat_to.split_with_sizes(output_split);
      inner_->alltoall_base(flat_to, flat_from, output_split, input_split, options)->wait();
      for (size_t i = 0; i < to.size(); i++) to[i].copy_(parts[i]);
    });
  }

  WorkPtr send(Tensors& tensors, int peer, int tag) override {
    return transfer("hccl::send", tensors, {}, peer, [&](Tensors& host) { return inner_->send(host, peer, tag); });
  }
  WorkPtr recv(Tensors& tensors, int peer, int tag) override {
    return transfer("hccl::recv", {}, tensors, peer, [&](Tensors& host) { return inner_->recv(host, peer, tag); });
  }
  // batch_isend_irecv: the sends and receives between the two calls are one operator.
  bool supportsCoalescing() const { return true; }  // PyTorch 2.4 does not ask
  void startCoalescing() override {
    batching_ = true;
    batch_ = {};
  }
  WorkPtr endCoalescing() override {
    batching_ = false;
    auto batch = std::exchange(batch_, {});
    if (batch.works.empty()) return c10::make_intrusive<HcclWork>(0, Tensors(), Tensors(), Works());
    auto peers = batch.to;
    peers.insert(peers.end(), batch.from.begin(), batch.from.end());
    return record("hccl::batch_isend_irecv", batch.sent, batch.received, peers, [&](int64_t) { return std::move(batch.works); });
  }
  WorkPtr recvAnysource(Tensors& tensors, int tag) override {
    return transfer("hccl::recv", {}, tensors, -1, [&](Tensors& host) { return inner_->recvAnysource(host, tag); });
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    c10d::BarrierOptions own;
    own.timeout = options.timeout;
    return run("hccl::barrier", {}, {}, [&] { wait_for(&Backend::barrier, own); });
  }

  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

 private:
  // Runs an operation of the other backend.
  template <class Operation, class... Arguments>
  void wait_for(Operation operation, Arguments&&... arguments) {
    (inner_.get()->*operation)(arguments...)->wait();
  }

  // gloo has no average.
  void reduce_all(const Tensors& tensors, const c10d::ReduceOp& op) {
    using Op = c10d::ReduceOp;
    TORCH_CHECK(op == Op::SUM || op == Op::AVG || op == Op::PRODUCT || op == Op::MIN || op == Op::MAX,
                "HCCL reduces with sum, prod, max, min and avg only");
    c10d::AllreduceOptions options;
    options.reduceOp = op == Op::AVG ? Op(Op::SUM) : op;
    for (const auto& tensor : tensors) {
      auto host = numbers_of(tensor);
      wait_for(&Backend::allreduce, Tensors{host}, options);
      const bool is_integral = at::isIntegralType(host.scalar_type(), true);
      if (op == Op::AVG) host.div_(getSize(), is_integral ? std::optional<c10::string_view>("trunc") : std::nullopt);
    }
  }

  // gloo gathers parts of one size only.
  void gather_all(const Tensors& to, const Tensor& input) {
    Tensors own = {bytes_of(input)};
    if (std::all_of(to.begin(), to.end(), [&](const Tensor& part) { return part.numel() == to[0].numel(); })) {
      return wait_for(&Backend::allgather, std::vector<Tensors>{to}, own, c10d::AllgatherOptions());
    }
    to[getRank()].copy_(own[0]);
    for (c10d::BroadcastOptions options; options.rootRank < getSize(); options.rootRank++) {
      wait_for(&Backend::broadcast, Tensors{to[options.rootRank]}, options);
    }
  }

  // `whole` is overwritten; offset: where this rank's part begins.
  void scatter_reduced(const Tensor& output, const Tensor& whole, int64_t offset, const c10d::ReduceOp& op) {
    reduce_all({whole}, op);
    auto to = numbers_of(output).view({-1});
    to.copy_(whole.narrow(0, offset, to.numel()));
  }

  // Sends the others the time that this host took since the last operation of the group, and records how much later each
  // of them came. What it computed for the device does not count: a host with a device would not have taken that time.
  void note_arrivals(int64_t number) {
    const int64_t took = now() - last_exit_ - (computed_ns - computed_at_exit_);
    std::vector<Tensors> all = {Tensors(getSize())};
    for (auto& one : all[0]) one = at::full({1}, took, at::kLong);  // PyTorch's fake group leaves them
    Tensors own = {at::full({1}, took, at::kLong)};
    inner_->allgather(all, own)->wait();
    if (!recording.load(std::memory_order_relaxed)) return;
    const auto at = now();
    for (int peer = 0; peer < getSize(); peer++) {
      const auto later = all[0][peer].item<int64_t>() - took;
      if (peer != getRank()) write({at, at, at, at, 0, number, later, peer, -1, 0, -1, Kind::kArrival, 0, 0, {}});
    }
  }

  // peer: its number in the group, -1: none; of a batch a list. start: takes the operation's number, returns what still runs.
  template <class Start>
  WorkPtr record(const char* name, const Tensors& inputs, const Tensors& results, const c10::IValue& peer, Start&& start) {
    CallRecord record(Kind::kCollective);
    const auto number = next_number++;
    Works inner;
    record.compute([&] { inner = start(number); });
    last_exit_ = now();
    computed_at_exit_ = computed_ns;
    if (record.is_recording) {
      Signature signature(name, {inputs, group_, peer}, {results});
      record.id = number;
      record.write_for(current_device(), signature);
    }
    return c10::make_intrusive<HcclWork>(number, results, inputs, std::move(inner));
  }

  template <class Body>
  WorkPtr run(const char* name, const Tensors& inputs, const Tensors& results, Body&& body) {
    return record(name, inputs, results, -1, [&](int64_t number) {
      note_arrivals(number);
      body();
      return Works();
    });
  }

  template <class Start>
  WorkPtr transfer(const char* name, const Tensors& sent, const Tensors& received, int64_t peer, Start&& start) {
    auto host = bytes_of(sent.empty() ? received : sent);
    if (!batching_) return record(name, sent, received, peer, [&](int64_t) { return Works{start(host)}; });
    batch_.sent.insert(batch_.sent.end(), sent.begin(), sent.end());
    batch_.received.insert(batch_.received.end(), received.begin(), received.end());
    (sent.empty() ? batch_.from : batch_.to).push_back(peer);
    batch_.works.push_back(start(host));
    return nullptr;
  }

  c10::intrusive_ptr<Backend> inner_;
  const std::string group_;
  bool batching_ = false;
  Batch batch_;
  int64_t last_exit_ = now(), computed_at_exit_ = computed_ns;
};

c10::intrusive_ptr<Backend> make_hccl(c10::intrusive_ptr<Backend> inner, std::string group, int rank, int size) {
  return c10::make_intrusive<Hccl>(std::move(inner), std::move(group), rank, size);
}

}  // namespace npu
