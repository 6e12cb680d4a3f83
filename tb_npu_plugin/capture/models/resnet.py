"""ResNet-50 as PyTorch trains it with DistributedDataParallel, in FP32."""

from __future__ import annotations

from dataclasses import dataclass

from tb_npu_plugin.capture.simulation.collectives import Transfer
from tb_npu_plugin.capture.simulation.program import Kept, Program, TrainingHost, Workload
from tb_npu_plugin.capture.simulation.work import Shape, Shapes, Types
from tb_npu_plugin.errors import BadRequest

F32 = "float"
#: DistributedDataParallel's default: bucket_cap_mb=25.
_BUCKET = 25 << 20
#: (blocks, channels) of the four stages; the output of a block has four times the channels.
_STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
PARAMETERS = 25_557_032
_SIZES = (224, 192, 256, 208)
#: Operators of autograd that are called otherwise than the forward ones.
_TITLES = {"aten::max_pool2d_with_indices": "MaxPool2DWithIndices", "aten::nll_loss_forward": "NllLoss"}


@dataclass(eq=False)
class ResNet(Workload):
    """ResNet-50, or with other numbers of blocks."""

    batch: int  # images of a step
    blocks: tuple[int, ...]  # in each of the four stages

    def __post_init__(self) -> None:
        if self.layout.tp > 1 or self.layout.pp > 1:
            raise BadRequest("resnet50 is trained data parallel only", "Leave --tp and --pp at 1.")

    def held(self, stage: int) -> int:
        return PARAMETERS * 12

    def size(self, step: int) -> int:
        return _SIZES[step % len(_SIZES)] if self.faults.dynamic else _SIZES[0]

    def build(self, stage: int, size: int) -> Program:
        return _Step(self, size)


class _Step(Program):
    """A step with images of this size."""

    def __init__(self, model: ResNet, size: int) -> None:
        super().__init__(model)
        self._blocks = model.blocks
        self._kept: list[Kept] = []
        image = (model.batch, 3, size, size)
        data = self.load_batch(image, F32, 900_000)
        self.leak(self.faults.leak)
        with self.frame("torchvision/models/resnet.py(266): forward"), self.module("ResNet"):
            self._network(image)
        self.interrupt()
        self._backward()
        self._optimizer()
        self.read_loss(4, F32, ("aten::item", "aten::_local_scalar_dense"))
        self.free(data)

    def _network(self, image: Shape) -> None:
        x = self._conv(image, 64, 7, 2)
        x = self._norm_relu(x)
        self._op("aten::max_pool2d_with_indices", (x,), module="MaxPool2d")
        x = (x[0], x[1], x[2] // 2, x[3] // 2)
        for number, (count, (_, width)) in enumerate(zip(self._blocks, _STAGES)):
            for block in range(count):
                x = self._bottleneck(x, width, 2 if number and not block else 1, first=block == 0)
        self._op("aten::mean", (x,), module="AdaptiveAvgPool2d")
        flat, weight = (x[0], x[1]), (x[1], 1000)
        with self.module("Linear"), self.op("aten::linear", [flat, weight], [F32, F32]):
            self._op("aten::addmm", (flat, weight), weight=4 * x[1] * 1000)
        out = (x[0], 1000)
        self._op("aten::_log_softmax", (out,))
        self._op("aten::nll_loss_forward", (out, (x[0],)), types=(F32, "long int"))
        self.do(TrainingHost.use_graph_engine, name="ReduceSum7_in_1", size=65_536, dur=8_000)

    def _bottleneck(self, x: Shape, width: int, stride: int, first: bool) -> Shape:
        with self.module("Bottleneck"), self.frame("torchvision/models/resnet.py(143): forward"):
            out = self._norm_relu(self._conv(x, width, 1, 1))
            out = self._norm_relu(self._conv(out, width, 3, stride))
            out = self._conv(out, 4 * width, 1, 1)
            self._norm(out)
            if first:
                self._norm(self._conv(x, 4 * width, 1, stride))
            for _ in range(self.faults.ai_cpu):
                with self.op("aten::where", [(out[0], out[1])], ["bool"]):
                    self.free(self.run("aten::nonzero", [(out[0], out[1])], ["bool"]))
            self._op("aten::add_", (out, out))
            self._op("aten::relu_", (out,), module="ReLU")
        return out

    def _conv(self, x: Shape, channels: int, kernel: int, stride: int) -> Shape:
        out = (x[0], channels, x[2] // stride, x[3] // stride)
        weight = (channels, x[1], kernel, kernel)
        with self.module("Conv2d"), self.op("aten::conv2d", [x, weight], [F32, F32]):
            self._op("aten::convolution", (x, weight, out), weight=4 * channels * x[1] * kernel * kernel)
        return out

    def _norm(self, x: Shape) -> None:
        self._op("aten::native_batch_norm", (x, (x[1],), (x[1],)), module="BatchNorm2d", weight=8 * x[1])

    def _norm_relu(self, x: Shape) -> Shape:
        self._norm(x)
        self._op("aten::relu_", (x,), module="ReLU")
        return x

    def _op(self, name: str, shapes: Shapes, module: str = "", weight: int = 0, types: Types = ()) -> None:
        with self.module(module) if module else self.frame("torch/nn/functional.py(1): forward"):
            self._kept.append(self.run_forward(name, shapes, types or (F32,) * len(shapes), weight))

    def _backward(self) -> None:
        """Backward pass. Gradients are reduced in buckets while it goes on."""
        pending = 0
        for number, entry in enumerate(reversed(self._kept), 1):
            self.run_backward(entry, F32, _TITLES.get(entry.name, ""))
            pending += entry.weight
            if pending >= _BUCKET or (pending and number == len(self._kept)):
                if self.layout.dp > 1:
                    self.communicate(Transfer("dp", "hcom_allReduce_", pending, 4), backward=True, wait=False)
                pending = 0

    def _optimizer(self) -> None:
        if self.layout.dp > 1:
            self.do(TrainingHost.wait, group="dp")
        with self.frame("torch/optim/sgd.py(57): step"), self.op("Optimizer.step#SGD.step"):
            for name in ("aten::_foreach_add_", "aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_add_"):
                self.run(name, ((PARAMETERS,), (PARAMETERS,)), (F32, F32), output=False)
        with self.frame("torch/optim/optimizer.py(302): zero_grad"), self.op("Optimizer.zero_grad#SGD"):
            self.run("aten::zero_", ((PARAMETERS,),), (F32,), output=False)
