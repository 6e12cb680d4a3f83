"""One linear layer and little else: results that are small enough to be read by eye."""

from __future__ import annotations

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.faults import Faults
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.program import Program, Workload
from tb_npu_plugin.capture.simulation.topology import Layout
from tb_npu_plugin.errors import BadRequest

F32 = "float"
_X, _WEIGHT, _BIAS, _OUT, _HEADS = (8, 16), (16, 4), (4,), (8, 4), (1, 1, 8, 4)
#: Bytes of gradients that are reduced together, and of what a stage hands to the next one.
_BUCKET, _ACTIVATION = 65_536, 32_768
_PARAMETERS = 68


class Linear(Workload):
    """A step launches kernels for each kind of core, copies, and allocates. With stages, each has such a layer."""

    def __init__(self, layout: Layout, kernels: KernelFactory, faults: Faults, synced: bool) -> None:
        if layout.tp > 1:
            raise BadRequest("linear cannot be split into tensors", "Leave --tp at 1.")
        if faults.dynamic:
            raise BadRequest("the shapes of linear do not change", "Choose another --model for dynamic-shapes.")
        super().__init__(layout, kernels, faults, synced)

    def held(self, stage: int) -> int:
        return _PARAMETERS * 12

    def size(self, step: int) -> int:
        return _X[0]

    def build(self, program: Program, stage: int, size: int) -> None:
        p, layout = program, self.layout
        first, last = stage == 0, stage == layout.pp - 1
        data = self._data(p)
        if not first:
            p.communicate(Transfer("pp-", "hcom_receive_", _ACTIVATION, 4))
        sequence, out = self._forward(p)
        if not last:
            p.communicate(Transfer("pp+", "hcom_send_", _ACTIVATION, 4), wait=False)
            p.communicate(Transfer("pp+", "hcom_receive_", _ACTIVATION, 4), backward=True)
        p.interrupt()
        with p.op("AddmmBackward0", [_OUT], [F32], sequence, backward=True):
            p.free(p.run("aten::mm", (_X[::-1], _OUT), (F32, F32), backward=True))
            p.free(out)
        if not first:
            p.communicate(Transfer("pp-", "hcom_send_", _ACTIVATION, 4), backward=True, wait=False)
        if layout.dp > 1:
            p.communicate(Transfer("dp", "hcom_allReduce_", _BUCKET, 4), backward=True)
        if layout.pp > 1:  # the norm of all gradients
            p.communicate(Transfer("world", "hcom_allReduce_", 4, 4))
        with p.op("Optimizer.step#SGD.step"):
            p.run("aten::_foreach_add_", (_WEIGHT, _WEIGHT), (F32, F32), output=False)
        p.read_loss(4, F32)
        p.free(data)

    def _data(self, p: Program) -> int:
        """Load and copy the input; a thread pins the next one meanwhile. Gives the slot of the input."""
        p.load(20_000)
        with p.op("aten::to", [_X], [F32]), p.op("aten::copy_", [_X, _X], [F32, F32]):
            data = p.allocate(512)
            p.copy(512, parts=2)
            p.run_on_other_thread("aten::pin_memory", [_X], [F32], 5_000)
        p.leak(self.faults.leak)
        return data

    def _forward(self, p: Program) -> tuple[int, int]:
        """Sequence number of the layer, and slot of its output."""
        types = (F32,) * 3
        sequence = p.next_sequence()
        with p.frame("nn.Module: Linear_0", 0), p.op("aten::linear", [_X, _WEIGHT, _BIAS], types):
            out = p.run("aten::addmm", (_BIAS, _X, _WEIGHT), types, sequence)
            p.use_graph_engine("MatMul", 1 << 20, 18_000)
        p.free(p.run("npu::npu_fusion_attention", (_HEADS,) * 3, types))
        with p.op("aten::dropout", [_OUT], [F32]):
            p.free(p.run("aten::_fused_dropout", (_OUT,), (F32,)))
        p.free(p.run("aten::sum", (_OUT,), (F32,)))
        for _ in range(self.faults.ai_cpu):
            p.free(p.run("aten::nonzero", (_OUT,), (F32,)))
        return sequence, out
