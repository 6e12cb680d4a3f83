// The backend "hccl" of torch.distributed: collectives run on the host, over another backend (gloo), when they are called.
// Sends and receives end later, since two ranks may send to each other before they receive.
#include "npu.h"

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>

namespace npu {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using c10d::Backend;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

Tensor host_of(const Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous(), "Tensors must be contiguous");
  if (!on_device(tensor)) return tensor;
  HostViews views;
  return views.host(tensor);
}

// Its bytes, for operations that only move them: any type will do.
Tensor bytes_of(const Tensor& tensor) { return host_of(tensor).view({-1}).view(at::kByte); }
Tensors bytes_of(const Tensors& tensors) {
  Tensors out;
  for (const auto& tensor : tensors) out.push_back(bytes_of(tensor));
  return out;
}

// For reductions.
Tensor numbers_of(const Tensor& tensor) {
  auto host = host_of(tensor);
  return host.scalar_type() == at::kBool ? host.view(at::kByte) : host;
}

Tensor flatten(const Tensors& tensors) {
  Tensors flat;
  for (const auto& tensor : tensors) flat.push_back(tensor.view({-1}));
  return at::cat(flat);
}

void unflatten(const Tensor& flat, const Tensors& tensors) {
  int64_t from = 0;
  for (const auto& tensor : tensors) {
    tensor.view({-1}).copy_(flat.narrow(0, from, tensor.numel()));
    from += tensor.numel();
  }
}

// A collective that has run, or a transfer (`inner`) that may still run.
struct HcclWork final : c10d::Work {
  HcclWork(int64_t number, Tensors results, Tensors kept, WorkPtr inner)
      : number(number), results(std::move(results)), kept(std::move(kept)), inner(std::move(inner)) {
    if (!this->inner) finish();
  }
  bool isCompleted() override { return inner ? inner->isCompleted() : true; }
  bool isSuccess() const override { return inner ? inner->isSuccess() : true; }
  int sourceRank() const override { return inner ? inner->sourceRank() : Work::sourceRank(); }
  void synchronize() override { wait(kNoTimeout); }
  Tensors result() override { return results; }
  bool wait(std::chrono::milliseconds timeout) override {
    Record record{};
    record.entry = record.begin = now();
    const bool done = inner ? inner->wait(timeout) : true;
    if (!recording.load(std::memory_order_relaxed)) return done;
    record.end = record.exit = now();
    record.id = number;
    record.sequence = record.signature = record.device = -1;
    record.kind = Kind::kCollectiveWait;
    write(std::move(record));
    return done;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    if (inner) return inner->getFuture();
    std::vector<Device> devices;
    for (const auto& tensor : results) {
      if (on_device(tensor)) devices = {tensor.device()};
    }
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
    future->markCompleted(c10::IValue(results));
    return future;
  }
  const int64_t number;
  const Tensors results, kept;
  const WorkPtr inner;
};

// Several transfers.
struct AllOf final : c10d::Work {
  explicit AllOf(std::vector<WorkPtr> works) : works(std::move(works)) {}
  bool isCompleted() override {
    return std::all_of(works.begin(), works.end(), [](const WorkPtr& work) { return work->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(works.begin(), works.end(), [](const WorkPtr& work) { return work->isSuccess(); });
  }
  bool wait(std::chrono::milliseconds timeout) override {
    for (const auto& work : works) work->wait(timeout);
    return true;
  }
  const std::vector<WorkPtr> works;
};

// What batch_isend_irecv has collected: tensors, and the peer of each.
struct Batch {
  Tensors sent, received;
  std::vector<int64_t> to, from;
  std::vector<WorkPtr> works;
  std::vector<int64_t> peers() const {
    auto all = to;
    all.insert(all.end(), from.begin(), from.end());
    return all;
  }
};

std::atomic<int64_t> next_number{1};

class Hccl final : public Backend {
 public:
  Hccl(c10::intrusive_ptr<Backend> inner, std::string group, int rank, int size)
      : Backend(rank, size), inner_(std::move(inner)), group_(std::move(group)) {}
  const std::string getBackendName() const override { return "hccl"; }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return run("hccl::broadcast", tensors, tensors, options.rootRank, "", [&] {
      auto host = bytes_of(tensors);
      inner_->broadcast(host, options)->wait();
    });
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return run("hccl::allreduce", tensors, tensors, -1, name_of(options.reduceOp), [&] { reduce_all(tensors, options.reduceOp); });
  }
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return run("hccl::allreduce", tensors, tensors, -1, name_of(options.reduceOp), [&] { reduce_all(tensors, options.reduceOp); });
  }
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return run("hccl::reduce", tensors, tensors, options.rootRank, name_of(options.reduceOp), [&] {
      Tensors host = {numbers_of(tensors[0]).clone()};
      reduce_all(host, options.reduceOp);
      if (getRank() == options.rootRank) numbers_of(tensors[0]).copy_(host[0]);
    });
  }

  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions&) override {
    return run("hccl::allgather", inputs, outputs[0], -1, "", [&] { gather_all(bytes_of(outputs[0]), inputs[0]); });
  }
  WorkPtr _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions&) override {
    return run("hccl::allgather", {input}, {output}, -1, "", [&] { gather_into(output, input); });
  }
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions&) override {
    return run("hccl::allgather", inputs, outputs, -1, "", [&] {
      for (size_t i = 0; i < outputs.size(); i++) gather_into(outputs[i], inputs[i]);
    });
  }
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    return run("hccl::gather", inputs, outputs.empty() ? Tensors() : outputs[0], options.rootRank, "", [&] {
      std::vector<Tensors> to;
      for (const auto& tensors : outputs) to.push_back(bytes_of(tensors));
      auto from = bytes_of(inputs);
      inner_->gather(to, from, options)->wait();
    });
  }
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& options) override {
    return run("hccl::scatter", inputs.empty() ? Tensors() : inputs[0], outputs, options.rootRank, "", [&] {
      std::vector<Tensors> from;
      for (const auto& tensors : inputs) from.push_back(bytes_of(tensors));
      auto to = bytes_of(outputs);
      inner_->scatter(to, from, options)->wait();
    });
  }

  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ReduceScatterOptions& options) override {
    return run("hccl::reduce_scatter", inputs[0], outputs, -1, name_of(options.reduceOp), [&] {
      Tensors parts;
      for (const auto& tensor : inputs[0]) parts.push_back(numbers_of(tensor));
      scatter_reduced(outputs[0], flatten(parts), options.reduceOp);
    });
  }
  WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input, const c10d::ReduceScatterOptions& options) override {
    return run("hccl::reduce_scatter", {input}, {output}, -1, name_of(options.reduceOp),
               [&] { scatter_reduced(output, numbers_of(input).view({-1}).clone(), options.reduceOp); });
  }
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) override {
    return run("hccl::reduce_scatter", inputs, outputs, -1, name_of(options.reduceOp), [&] {
      for (size_t i = 0; i < outputs.size(); i++) {
        scatter_reduced(outputs[i], numbers_of(inputs[i]).view({-1}).clone(), options.reduceOp);
      }
    });
  }

  WorkPtr alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_split, std::vector<int64_t>& input_split,
                        const c10d::AllToAllOptions& options) override {
    const bool is_even = output_split.empty() && input_split.empty();
    return run(is_even ? "hccl::alltoall" : "hccl::alltoallv", {input}, {output}, -1, "", [&] {
      auto to = host_of(output), from = host_of(input);
      inner_->alltoall_base(to, from, output_split, input_split, options)->wait();
    });
  }
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return run("hccl::alltoallv", inputs, outputs, -1, "", [&] {
      auto to = bytes_of(outputs), from = bytes_of(inputs);
      auto flat_to = flatten(to), flat_from = flatten(from);
      std::vector<int64_t> output_split, input_split;
      for (const auto& tensor : to) output_split.push_back(tensor.numel());
      for (const auto& tensor : from) input_split.push_back(tensor.numel());
      inner_->alltoall_base(flat_to, flat_from, output_split, input_split, options)->wait();
      unflatten(flat_to, to);
    });
  }

  WorkPtr send(Tensors& tensors, int peer, int tag) override {
    if (batching_) return add_to_batch(batch_.sent, batch_.to, tensors, peer, [&](Tensors& host) { return inner_->send(host, peer, tag); });
    return transfer("hccl::send", tensors, {}, peer, [&](Tensors& host) { return inner_->send(host, peer, tag); });
  }
  WorkPtr recv(Tensors& tensors, int peer, int tag) override {
    if (batching_) return add_to_batch(batch_.received, batch_.from, tensors, peer, [&](Tensors& host) { return inner_->recv(host, peer, tag); });
    return transfer("hccl::recv", {}, tensors, peer, [&](Tensors& host) { return inner_->recv(host, peer, tag); });
  }
  // batch_isend_irecv: the sends and receives between the two calls are one operator.
  bool supportsCoalescing() const { return true; }  // PyTorch 2.4 does not ask
  void startCoalescing() override {
    batching_ = true;
    batch_ = Batch();
  }
  WorkPtr endCoalescing() override {
    batching_ = false;
    auto batch = std::make_shared<Batch>(std::move(batch_));
    if (batch->works.empty()) return c10::make_intrusive<HcclWork>(0, Tensors(), Tensors(), nullptr);
    return record("hccl::batch_isend_irecv", batch->sent, batch->received, batch->peers(), "", false,
                  [&] { return WorkPtr(c10::make_intrusive<AllOf>(std::move(batch->works))); });
  }
  WorkPtr recvAnysource(Tensors& tensors, int tag) override {
    return transfer("hccl::recv", {}, tensors, -1, [&](Tensors& host) { return inner_->recvAnysource(host, tag); });
  }
  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    return run("hccl::barrier", {}, {}, -1, "", [&] {
      c10d::BarrierOptions own;
      own.timeout = options.timeout;
      inner_->barrier(own)->wait();
    });
  }

  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

 private:
  static std::string name_of(const c10d::ReduceOp& op) {
    switch (op) {
      case c10d::ReduceOp::SUM: return "sum";
      case c10d::ReduceOp::AVG: return "avg";
      case c10d::ReduceOp::PRODUCT: return "prod";
      case c10d::ReduceOp::MIN: return "min";
      case c10d::ReduceOp::MAX: return "max";
      default: TORCH_CHECK(false, "HCCL reduces with sum, prod, max, min and avg only"); return "";
    }
  }

  // gloo has no average.
  void reduce_all(const Tensors& tensors, const c10d::ReduceOp& op) {
    for (const auto& tensor : tensors) {
      c10d::AllreduceOptions options;
      const bool is_mean = op == c10d::ReduceOp::AVG;
      options.reduceOp = is_mean ? c10d::ReduceOp(c10d::ReduceOp::SUM) : op;
      Tensors host = {numbers_of(tensor)};
      inner_->allreduce(host, options)->wait();
      if (is_mean) host[0].div_(getSize(), at::isIntegralType(host[0].scalar_type(), true) ? std::optional<c10::string_view>("trunc") : std::nullopt);
    }
  }

  void gather_all(Tensors to, const Tensor& input) {
    std::vector<Tensors> outputs = {std::move(to)};
    Tensors inputs = {bytes_of(input)};
    inner_->allgather(outputs, inputs)->wait();
  }
  void gather_into(const Tensor& output, const Tensor& input) {
    gather_all(bytes_of(output).view({getSize(), -1}).unbind(0), input);
  }

  // `whole` is overwritten.
  void scatter_reduced(const Tensor& output, const Tensor& whole, const c10d::ReduceOp& op) {
    reduce_all({whole}, op);
    auto to = numbers_of(output).view({-1});
    to.copy_(whole.narrow(0, getRank() * to.numel(), to.numel()));
  }

  template <class Start>
  WorkPtr add_to_batch(Tensors& moved, std::vector<int64_t>& peers, const Tensors& tensors, int peer, Start&& start) {
    moved.insert(moved.end(), tensors.begin(), tensors.end());
    peers.insert(peers.end(), tensors.size(), peer);
    auto host = bytes_of(tensors);
    batch_.works.push_back(start(host));
    return nullptr;
  }

  // Tells the others how much time this host took since the last operation of the group, and records how much later each
  // of them came. What it computed for the device does not count: a host with a device would not have taken that time.
  void note_arrivals(int64_t number) {
    const int64_t took = now() - last_exit_ - (computed() - computed_at_exit_);
    std::vector<Tensors> all = {Tensors(getSize())};
    for (auto& one : all[0]) one = at::scalar_tensor(took, at::kLong).view({1});  // PyTorch's fake group leaves them
    Tensors own = {at::scalar_tensor(took, at::kLong).view({1})};
    inner_->allgather(all, own)->wait();
    if (!recording.load(std::memory_order_relaxed)) return;
    const auto at = now();
    for (int peer = 0; peer < getSize(); peer++) {
      const auto later = all[0][peer].item<int64_t>() - took;
      if (peer != getRank()) write({at, at, at, at, 0, number, later, peer, -1, 0, -1, Kind::kArrival, 0, 0, {}});
    }
  }

  // peer: its number in the group, -1: none; of a batch a list.
  template <class Peer, class Body>
  WorkPtr record(const char* name, const Tensors& inputs, const Tensors& results, const Peer& peer, const std::string& reduction,
                 bool meets, Body&& body) {
    CallRecord record(Kind::kCollective);
    const auto number = next_number++;
    WorkPtr inner;
    record.compute([&] {
      if (meets) note_arrivals(number);
      inner = body();
    });
    last_exit_ = now();
    computed_at_exit_ = computed();
    if (record.is_recording) {
      Signature signature(name);
      signature.add(inputs);
      signature.add(group_);
      signature.add(peer);
      signature.add(reduction);
      signature.begin_results();
      signature.add(results);
      for (const auto& tensor : inputs.empty() ? results : inputs) record.bytes += static_cast<int64_t>(tensor.nbytes());
      record.id = number;
      record.write_for(current_device(), signature);
    }
    Tensors kept = inputs;
    return c10::make_intrusive<HcclWork>(number, results, std::move(kept), std::move(inner));
  }

  template <class Body>
  WorkPtr run(const char* name, const Tensors& inputs, const Tensors& results, int64_t peer, const std::string& reduction,
              Body&& body) {
    return record(name, inputs, results, peer, reduction, true, [&] {
      body();
      return WorkPtr();
    });
  }

  template <class Body>
  WorkPtr transfer(const char* name, const Tensors& inputs, const Tensors& results, int64_t peer, Body&& body) {
    auto host = bytes_of(inputs.empty() ? results : inputs);
    return record(name, inputs, results, peer, "", false, [&] { return body(host); });
  }

  c10::intrusive_ptr<Backend> inner_;
  const std::string group_;
  bool batching_ = false;
  Batch batch_;
  int64_t last_exit_ = now(), computed_at_exit_ = computed();
};

}  // namespace

c10::intrusive_ptr<Backend> make_hccl(c10::intrusive_ptr<Backend> inner, std::string group, int rank, int size) {
  return c10::make_intrusive<Hccl>(std::move(inner), std::move(group), rank, size);
}

}  // namespace npu
