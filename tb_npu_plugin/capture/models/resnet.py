"""ResNet-50 as PyTorch trains it with DistributedDataParallel, in FP32."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.faults import Faults
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.program import BACKWARD, Program, Workload
from tb_npu_plugin.capture.simulation.topology import Layout
from tb_npu_plugin.capture.simulation.work import Shape, Shapes, Types
from tb_npu_plugin.errors import BadRequest

F32 = "float"
#: DistributedDataParallel's default: bucket_cap_mb=25.
_BUCKET = 25 << 20
#: (blocks, channels) of the four stages; the output of a block has four times the channels.
_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
PARAMETERS = 25_557_032
_SIZES = (224, 192, 256, 208)


@dataclass(frozen=True)
class _Kept:
    """What the forward pass of an operator leaves for the backward pass."""

    backward: str
    title: str
    sequence: int
    shapes: Shapes
    slot: int
    weight: int = 0


class ResNet(Workload):
    """batch: images of a step; blocks: in each of the four stages."""

    def __init__(
        self, layout: Layout, kernels: KernelFactory, faults: Faults, synced: bool, batch: int, blocks: tuple[int, ...]
    ) -> None:
        if layout.tp > 1 or layout.pp > 1:
            raise BadRequest("resnet50 is trained data parallel only", "Leave --tp and --pp at 1.")
        super().__init__(layout, kernels, faults, synced)
        self.batch, self.blocks = batch, blocks

    def held(self, stage: int) -> int:
        return PARAMETERS * 12

    def size(self, step: int) -> int:
        return _SIZES[step % len(_SIZES)] if self.faults.dynamic else _SIZES[0]

    def build(self, program: Program, stage: int, size: int) -> None:
        _Builder(program, self).build(size)


class _Builder:
    def __init__(self, program: Program, model: ResNet) -> None:
        self._p, self._layout, self._faults = program, model.layout, model.faults
        self._batch, self._blocks = model.batch, model.blocks
        self._kept: list[_Kept] = []
        self._modules: dict[str, int] = {}
        self._pending = 0

    def build(self, size: int) -> None:
        p = self._p
        image = (self._batch, 3, size, size)
        data = p.load_batch(image, F32, 900_000)
        p.leak(self._faults.leak)
        with p.frame("torchvision/models/resnet.py(266): forward"), p.frame("nn.Module: ResNet_0", 0):
            self._network(image)
        p.interrupt()
        self._backward()
        self._optimizer()
        p.read_loss(4, F32, ("aten::item", "aten::_local_scalar_dense"))
        p.free(data)

    def _network(self, image: Shape) -> None:
        x = self._conv(image, 64, 7, 2)
        x = self._norm_relu(x)
        half = (x[0], x[1], x[2] // 2, x[3] // 2)
        self._op("aten::max_pool2d_with_indices", "MaxPool2DWithIndices", (x,), module="MaxPool2d")
        x = half
        for number, (count, (_, width)) in enumerate(zip(self._blocks, _STAGES)):
            for block in range(count):
                x = self._bottleneck(x, width, 2 if number and not block else 1, first=block == 0)
        self._op("aten::mean", "Mean", (x,), module="AdaptiveAvgPool2d")
        flat, weight = (x[0], x[1]), (x[1], 1000)
        with self._module("Linear"), self._p.op("aten::linear", [flat, weight], [F32, F32]):
            self._op("aten::addmm", "Addmm", (flat, weight), weight=4 * x[1] * 1000)
        out = (x[0], 1000)
        self._op("aten::_log_softmax", "LogSoftmax", (out,))
        self._op("aten::nll_loss_forward", "NllLoss", (out, (x[0],)), types=(F32, "long int"))
        self._p.use_graph_engine("ReduceSum7_in_1", 65_536, 8_000)

    def _module(self, kind: str) -> AbstractContextManager[None]:
        number = self._modules[kind] = self._modules.get(kind, -1) + 1
        return self._p.frame(f"nn.Module: {kind}_{number}", number)

    def _bottleneck(self, x: Shape, width: int, stride: int, first: bool) -> Shape:
        with self._module("Bottleneck"), self._p.frame("torchvision/models/resnet.py(143): forward"):
            out = self._norm_relu(self._conv(x, width, 1, 1))
            out = self._norm_relu(self._conv(out, width, 3, stride))
            out = self._conv(out, 4 * width, 1, 1)
            self._norm(out)
            if first:
                self._norm(self._conv(x, 4 * width, 1, stride))
            for _ in range(self._faults.ai_cpu):
                with self._p.op("aten::where", [(out[0], out[1])], ["bool"]):
                    self._p.free(self._p.run("aten::nonzero", [(out[0], out[1])], ["bool"]))
            self._op("aten::add_", "Add", (out, out))
            self._op("aten::relu_", "Relu", (out,), module="ReLU")
        return out

    def _conv(self, x: Shape, channels: int, kernel: int, stride: int) -> Shape:
        out = (x[0], channels, x[2] // stride, x[3] // stride)
        weight = (channels, x[1], kernel, kernel)
        size = 4 * channels * x[1] * kernel * kernel
        with self._module("Conv2d"), self._p.op("aten::conv2d", [x, weight], [F32, F32]):
            self._op("aten::convolution", "Convolution", (x, weight, out), weight=size)
        return out

    def _norm(self, x: Shape) -> None:
        self._op(
            "aten::native_batch_norm", "NativeBatchNorm", (x, (x[1],), (x[1],)), module="BatchNorm2d", weight=8 * x[1]
        )

    def _norm_relu(self, x: Shape) -> Shape:
        self._norm(x)
        self._op("aten::relu_", "Relu", (x,), module="ReLU")
        return x

    def _op(self, name: str, title: str, shapes: Shapes, module: str = "", weight: int = 0, types: Types = ()) -> None:
        p = self._p
        sequence = p.next_sequence()
        with self._module(module) if module else p.frame("torch/nn/functional.py(1): forward"):
            slot = p.run(name, shapes, types or (F32,) * len(shapes), sequence)
        self._kept.append(_Kept(BACKWARD.get(name, ""), title, sequence, shapes, slot, weight))

    def _backward(self) -> None:
        p = self._p
        for entry in reversed(self._kept):
            types = (F32,) * len(entry.shapes)
            with p.op(f"{entry.title}Backward0", entry.shapes[:1], types[:1], entry.sequence, backward=True):
                if entry.backward:
                    p.free(p.run(entry.backward, entry.shapes, types, backward=True))
            p.free(entry.slot)
            self._pending += entry.weight
            if self._pending >= _BUCKET:
                self._reduce()
        if self._pending:
            self._reduce()
        self._kept.clear()

    def _reduce(self) -> None:
        if self._layout.dp > 1:
            self._p.communicate(Transfer("dp", "hcom_allReduce_", self._pending, 4), backward=True, wait=False)
        self._pending = 0

    def _optimizer(self) -> None:
        p = self._p
        if self._layout.dp > 1:
            p.wait("dp")
        with p.frame("torch/optim/sgd.py(57): step"), p.op("Optimizer.step#SGD.step"):
            for name in ("aten::_foreach_add_", "aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_add_"):
                p.run(name, ((PARAMETERS,), (PARAMETERS,)), (F32, F32), output=False)
        with p.frame("torch/optim/optimizer.py(302): zero_grad"), p.op("Optimizer.zero_grad#SGD"):
            p.run("aten::zero_", ((PARAMETERS,),), (F32,), output=False)
