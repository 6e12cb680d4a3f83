"""One linear layer and little else: results that are small enough to be read by eye."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.program import Program, TrainingHost, Workload
from tb_npu_plugin.errors import BadRequest

F32 = "float"
_X, _WEIGHT, _BIAS, _OUT, _HEADS = (8, 16), (16, 4), (4,), (8, 4), (1, 1, 8, 4)
#: Bytes of gradients that are reduced together, and of what a stage hands to the next one.
_BUCKET, _ACTIVATION = 65_536, 32_768


@dataclass(eq=False)
class Linear(Workload):
    """A step launches kernels for each kind of core, copies, and allocates. With stages, each has such a layer."""

    def __post_init__(self) -> None:
        if self.layout.tp > 1:
            raise BadRequest("linear cannot be split into tensors", "Leave --tp at 1.")
        if self.faults.dynamic:
            raise BadRequest("the shapes of linear do not change", "Choose another --model for dynamic-shapes.")

    def held(self, stage: int) -> int:
        return 68 * 12

    def size(self, step: int) -> int:
        return _X[0]

    def build(self, stage: int, size: int) -> Program:
        return _Step(self, stage)


class _Step(Program):
    def __init__(self, model: Linear, stage: int) -> None:
        super().__init__(model)
        layout, first, last = self.layout, stage == 0, stage == self.layout.pp - 1
        data = self._data()
        if not first:
            self.communicate(Transfer("pp-", "hcom_receive_", _ACTIVATION, 4))
        sequence, out = self._forward()
        if not last:
            self.communicate(Transfer("pp+", "hcom_send_", _ACTIVATION, 4), wait=False)
            self.communicate(Transfer("pp+", "hcom_receive_", _ACTIVATION, 4), backward=True)
        self.interrupt()
        with self.op("AddmmBackward0", [_OUT], [F32], sequence, backward=True):
            self.free(self.run("aten::mm", (_X[::-1], _OUT), (F32, F32), backward=True))
            self.free(out)
        if not first:
            self.communicate(Transfer("pp-", "hcom_send_", _ACTIVATION, 4), backward=True, wait=False)
        if layout.dp > 1:
            self.communicate(Transfer("dp", "hcom_allReduce_", _BUCKET, 4), backward=True)
        if layout.pp > 1:  # the norm of all gradients
            self.communicate(Transfer("world", "hcom_allReduce_", 4, 4))
        with self.op("Optimizer.step#SGD.step"):
            self.run("aten::_foreach_add_", (_WEIGHT, _WEIGHT), (F32, F32), output=False)
        self.read_loss(4, F32)
        self.free(data)

    def _data(self) -> int:
        """Load and copy the input; a thread pins the next one meanwhile. Gives the slot of the input."""
        self.do(TrainingHost.load, ns=20_000)
        with self.op("aten::to", [_X], [F32]), self.op("aten::copy_", [_X, _X], [F32, F32]):
            data = self.allocate(512)
            self.do(TrainingHost.copy, size=512, to_host=False, parts=2)
            self.run_on_other_thread("aten::pin_memory", [_X], [F32], 5_000)
        self.leak(self.faults.leak)
        return data

    def _forward(self) -> tuple[int, int]:
        """Sequence number of the layer, and slot of its output."""
        types, sequence = (F32,) * 3, self.next_sequence()
        with self.module("Linear"), self.op("aten::linear", [_X, _WEIGHT, _BIAS], types):
            out = self.run("aten::addmm", (_BIAS, _X, _WEIGHT), types, sequence)
            self.do(TrainingHost.use_graph_engine, name="MatMul", size=1 << 20, dur=18_000)
        self.free(self.run("npu::npu_fusion_attention", (_HEADS,) * 3, types))
        with self.op("aten::dropout", [_OUT], [F32]):
            self.free(self.run("aten::_fused_dropout", (_OUT,), (F32,)))
        for name in ("aten::sum", *["aten::nonzero"] * self.faults.ai_cpu):
            self.free(self.run(name, (_OUT,), (F32,)))
        return sequence, out
