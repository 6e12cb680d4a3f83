"""Decoders as Megatron trains them: tensor, pipeline (1F1B) and data parallel, in BF16."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.program import Kept, Program, TrainingHost, Workload
from tb_npu_plugin.capture.simulation.records import RECEIVE, SEND
from tb_npu_plugin.capture.simulation.work import Shape, Types
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.errors import BadRequest

BF16, F32 = "c10::BFloat16", "float"
#: Bytes of gradients that are reduced together.
_BUCKET = 96 << 20
#: AdamW(foreach=True): its operators, and how many lists of tensors each reads.
_ADAMW = [(row["operator"], int(row["inputs"])) for row in read_table(__file__, "adamw.csv", dict[str, str]).values()]
#: Operators that read a value; collectives that a distributed optimizer reduces gradients with.
_READ = ("aten::item", "aten::_local_scalar_dense")
_SHARDED = ("hcom_reduceScatter_", "hcom_allGather_")
#: Share of the sequence in each step of a run with dynamic shapes.
_LENGTHS = (1.0, 0.75, 0.875, 0.625, 0.9375, 0.8125)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a decoder."""

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    sequence: int = 2048
    batch: int = 1  # of one micro batch
    micro: int = 1  # micro batches in a step of one rank
    dropout: bool = False  # behind attention and feed forward
    fused: bool = True  # the optimizer is one kernel for a tensor, not one for each term of its formula


@dataclass(eq=False)
class Transformer(Workload):
    """A decoder of these sizes on the ranks of a layout."""

    shape: Sizes

    def __post_init__(self) -> None:
        layout, faults, shape = self.layout, self.faults, self.shape
        if shape.layers % layout.pp or shape.heads % layout.tp:
            what, parts = f"{shape.layers} layers and {shape.heads} heads", f"pp {layout.pp} and tp {layout.tp}"
            advice = "Choose tp and pp that divide them, or give --layers."
            raise BadRequest(f"{what} cannot be split into {parts}", advice)
        if faults.uneven_stages and not 0 < faults.uneven_stages < shape.layers // layout.pp < shape.layers:
            what = f"a stage has no {faults.uneven_stages} layers to give away"
            raise BadRequest(what, "Choose --pp above 1 and more --layers.")
        if shape.hidden % shape.heads:
            what = f"a hidden size of {shape.hidden} cannot be split into {shape.heads} heads"
            raise BadRequest(what, "Choose --hidden as a multiple of --heads.")

    def held(self, stage: int) -> int:
        """Weights and gradients in BF16, and the states of the optimizer in FP32: 16 bytes a parameter."""
        s = self.shape
        layer = 4 * s.hidden * s.hidden + 3 * s.hidden * s.feed_forward
        ends = (stage == 0) + (stage == self.layout.pp - 1)
        return (layer * self.layers(stage) + ends * s.vocabulary * s.hidden) // self.layout.tp * 16

    def layers(self, stage: int) -> int:
        moved = self.faults.uneven_stages
        return self.shape.layers // self.layout.pp + (moved * (self.layout.pp - 1) if stage == 0 else -moved)

    def size(self, step: int) -> int:
        length = self.shape.sequence
        return max(64, int(length * _LENGTHS[step % len(_LENGTHS)]) // 64 * 64) if self.faults.dynamic else length

    def build(self, stage: int, size: int) -> Program:
        return _Step(self, stage, size)


class _Step(Program):
    """A step of one pipeline stage with sequences of this length."""

    def __init__(self, model: Transformer, stage: int, length: int) -> None:
        super().__init__(model)
        self._shape, self._length = model.shape, length
        self._first, self._last = stage == 0, stage == self.layout.pp - 1
        self._stage, self._layers = stage, model.layers(stage)
        self._products = F32 if self.faults.fp32 else BF16
        tp, s = self.layout.tp, model.shape
        self._head, self._heads = s.hidden // s.heads, s.heads // tp
        self._wide, self._vocabulary = s.feed_forward // tp, s.vocabulary // tp
        self._tokens = (s.batch * length, s.hidden)
        self._activation = s.batch * length * s.hidden * 2
        self._kept: list[list[Kept]] = []  # of micro batches whose backward pass is to come
        self._pending = 0  # bytes of gradients that are not reduced yet
        self._has_reduced = False
        data = self.load_batch((s.batch, length), "long int", 400_000)
        self.leak(self.faults.leak)
        self._micro_batches(s.micro)
        self._optimizer()
        self.read_loss(2, BF16, _READ)
        self.free(data)

    def _micro_batches(self, micro: int) -> None:
        """One forward, one backward, as the stages in front and behind do."""
        warm = min(micro, self.layout.pp - 1 - self._stage)
        for number in range(warm):
            self._exchange("pp-", RECEIVE)
            self._forward(number)
            self._exchange("pp+", SEND)
        steady = micro - warm
        if steady:
            self._exchange("pp-", RECEIVE)
        for number in range(steady):
            self._forward(warm + number)
            self._exchange("pp+", SEND, joined=True)  # with what the backward pass receives
            self._backward(last=number == micro - 1)
            if number < steady - 1:
                self._exchange("pp-", RECEIVE, joined=True)  # before the send: the stage before sends first, too
            self._exchange("pp-", SEND)
        for number in range(steady, micro):
            self._backward(last=number == micro - 1)
            self._exchange("pp-", SEND)

    def _forward(self, number: int) -> None:
        """One micro batch: from the stage before, through the layers, towards the stage behind."""
        self._modules.clear()  # numbers begin anew
        self._kept.append([])
        with self.frame("model/llama.py(204): forward"), self.frame("nn.Module: LlamaModel_0", 0):
            if self._first:
                table = (self._vocabulary, self._shape.hidden)
                self._op("aten::embedding", (table, (self._shape.batch, self._length)), (BF16, "long int"), weighs=True)
                self._sum_tensor()
            for layer in range(self._layers):
                self._layer(layer)
        if self._last:
            out = (self._tokens[0], self._vocabulary)
            self._op("npu::npu_rms_norm", (self._tokens, (self._shape.hidden,)))
            self._linear(self._tokens, (self._shape.hidden, self._vocabulary))
            self._op("aten::_log_softmax", (out,))
            self._op("aten::nll_loss_forward", (out, (self._tokens[0],)), (BF16, "long int"))
            self.do(TrainingHost.use_graph_engine, name="LogSoftmaxV2", size=1 << 20, dur=8_000)
        if number == 0:  # each stage has a first one, and communicates behind it
            self.interrupt()

    def _layer(self, layer: int) -> None:
        s = self._shape
        x, wide = self._tokens, (self._tokens[0], self._wide)
        heads = (s.batch, self._heads, self._length, self._head)
        inner = (self._tokens[0], self._heads * self._head)
        with self.frame(f"nn.Module: LlamaDecoderLayer_{layer}", layer), self.frame("model/llama.py(118): forward"):
            self._op("npu::npu_rms_norm", (x, (s.hidden,)))
            with self.frame(f"nn.Module: LlamaAttention_{layer}", layer):
                self._linear(x, (s.hidden, 3 * inner[1]), reduce=True)
                for _ in range(2):
                    self._op("npu::npu_rotary_mul", (heads, (1, 1, self._length, self._head)))
                if self.faults.unfused:
                    self._plain_attention(heads)
                else:
                    self._op("npu::npu_fusion_attention", (heads, heads, heads))
                self._linear(inner, (inner[1], s.hidden))
                self._sum_tensor()
                self._dropout()
            self._op("aten::add", (x, x))
            for _ in range(self.faults.ai_cpu):
                mask = (x[0], 256)
                with self.op("aten::where", [mask], ["bool"]):
                    self.free(self.run("aten::nonzero", [mask], ["bool"]))
            self._op("npu::npu_rms_norm", (x, (s.hidden,)))
            with self.frame(f"nn.Module: LlamaMLP_{layer}", layer):
                self._linear(x, (s.hidden, 2 * self._wide), reduce=True)
                self._op("npu::npu_swiglu", ((x[0], 2 * self._wide),))
                self._linear(wide, (self._wide, s.hidden))
                self._sum_tensor()
                self._dropout()
            self._op("aten::add", (x, x))
            for _ in range(self.faults.casts):
                self.free(self.run("aten::_to_copy", (x,), (BF16,)))
            if self.faults.synchronizing:
                self.read_loss(2, BF16, _READ)
                self.do(TrainingHost.spend, ns=self.faults.synchronizing)

    def _plain_attention(self, heads: Shape) -> None:
        """The forward pass of attention, one kernel for each term of its formula."""
        batch, count, length, size = heads
        many, sequence = batch * count, self.next_sequence()
        scores, rows = (many, length, length), (many, length, size)
        for name, shapes in (
            ("aten::bmm", (rows, (many, size, length))),
            ("aten::mul", (scores,)),
            ("aten::add", (scores, (1, length, length))),
            ("aten::_softmax", (scores,)),
        ):
            self.free(self.run(name, shapes, (BF16,) * len(shapes), sequence))
        slot = self.run("aten::bmm", (scores, rows), (BF16, BF16), sequence)
        self._kept[-1].append(Kept("npu::npu_fusion_attention", sequence, (heads,) * 3, slot))

    def _op(self, name: str, shapes: tuple[Shape, ...], types: Types = (), weighs: bool = False) -> None:
        """A forward operator. weighs: its first input is a weight."""
        weight = 2 * shapes[0][0] * shapes[0][1] if weighs else 0
        self._kept[-1].append(self.run_forward(name, shapes, types or (BF16,) * len(shapes), weight))

    def _linear(self, x: Shape, weight: Shape, reduce: bool = False) -> None:
        whole = self._activation if reduce and self.layout.tp > 1 else 0
        with self.module("Linear"), self.op("aten::linear", [x, weight], [BF16, BF16]):
            products, size = (self._products,) * 2, 2 * weight[0] * weight[1]
            self._kept[-1].append(self.run_forward("aten::matmul", (x, weight), products, size, whole))

    def _dropout(self) -> None:
        if self._shape.dropout:
            with self.op("aten::dropout", [self._tokens], [BF16]):
                self._op("aten::_fused_dropout", (self._tokens,))

    def _sum_tensor(self) -> None:
        """Add up the parts of the tensor parallel ranks."""
        if self.layout.tp > 1:
            self.communicate(Transfer("tp", "hcom_allReduce_", self._activation))

    def _backward(self, last: bool) -> None:
        """The oldest micro batch, in reverse; the gradients of the last one are reduced while it goes on."""
        kept = self._kept.pop(0)
        self._exchange("pp+", RECEIVE)
        for left, entry in enumerate(reversed(kept), 1 - len(kept)):
            self.run_backward(entry, BF16, product=self._products)
            if entry.reduce:
                self.communicate(Transfer("tp", "hcom_allReduce_", entry.reduce), backward=True)
            if last and entry.weight and self.layout.dp > 1:
                self._pending += entry.weight
                if self._pending >= _BUCKET:
                    self._reduce_gradients(beside=any(one.name == "aten::matmul" for one in kept[:-left]))
        if last and self._pending:
            self._reduce_gradients(beside=False)

    def _reduce_gradients(self, beside: bool) -> None:
        """beside: matrix products of the backward pass run meanwhile."""
        faults, bucket, dp = self.faults, self.faults.bucket or self._pending, self.layout.dp
        slow = (faults.contention if beside else 1.0) * faults.unaligned
        for start in range(0, self._pending, bucket):
            resend, self._has_reduced = 0 if self._has_reduced else faults.resend, True
            size = min(bucket, self._pending - start)
            for type_ in _SHARDED if faults.unaligned != 1 else ("hcom_allReduce_",):
                if faults.unaligned != 1:  # about as many bytes, but the shard of a rank is no multiple of 512
                    size = dp * (size // dp // 512 * 512 + 2)
                transfer = Transfer("dp", type_, size, slow=slow, resend=resend)
                self.communicate(transfer, backward=True, wait=faults.without_overlap)
        self._pending = 0

    def _exchange(self, role: str, type_: str, joined: bool = False) -> None:
        """Hand the activations, or their gradients, on to the stage before ("pp-") or behind, or take them from it."""
        if not (self._last if role == "pp+" else self._first):
            self.communicate(Transfer(role, type_, self._activation, joined=joined), wait=type_ == RECEIVE)

    def _optimizer(self) -> None:
        s = self._shape
        if self.layout.dp > 1:
            self.do(TrainingHost.wait, group="dp")
        tp = self.layout.tp
        sizes = [4 * s.hidden * s.hidden // tp, 3 * s.hidden * s.feed_forward // tp]
        with self.frame("mindspeed/optimizer/adamw.py(61): step"), self.op("Optimizer.step#AdamW.step"):
            for size in sizes * self._layers if s.fused else ():
                self.run("npu::npu_apply_adam_w", ((size,),) * 4, (BF16, "float", "float", BF16), output=False)
            for name, inputs in _ADAMW if not s.fused else ():
                self.run(name, ((sum(sizes) * self._layers,),) * inputs, (F32,) * inputs, output=False)
        with self.frame("torch/optim/optimizer.py(302): zero_grad"), self.op("Optimizer.zero_grad#AdamW"):
            self.run("aten::zero_", ((sum(sizes),),), (BF16,), output=False)
