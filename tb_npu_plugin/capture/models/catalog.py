"""Models by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tb_npu_plugin.capture.models.linear import Linear
from tb_npu_plugin.capture.models.resnet import ResNet
from tb_npu_plugin.capture.models.transformer import Sizes as DecoderSizes
from tb_npu_plugin.capture.models.transformer import Transformer
from tb_npu_plugin.capture.simulation.faults import FAULTS, Faults
from tb_npu_plugin.capture.simulation.kernels import KernelFactory
from tb_npu_plugin.capture.simulation.program import Workload
from tb_npu_plugin.capture.simulation.topology import Layout
from tb_npu_plugin.csv_tables import read_table
from tb_npu_plugin.errors import BadRequest

#: Sizes from the models' published configurations.
TRANSFORMERS = read_table(__file__, "decoders.csv", DecoderSizes)
MODELS = (*TRANSFORMERS, "resnet50", "linear")
#: Sizes that can be changed, of models that have not all of them.
_SIZES: dict[str, set[str]] = {"resnet50": {"layers", "batch"}, "linear": set()}


@dataclass(frozen=True)
class Sizes:
    """Changes to the sizes of a model; None leaves them. blocks of resnet50 are its layers; dropout and fused: of
    transformers (models/transformer.py)."""

    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    sequence: int | None = None
    batch: int | None = None
    micro: int | None = None
    dropout: bool | None = None
    fused: bool | None = None


def workload(
    model: str, sizes: Sizes, layout: Layout, kernels: KernelFactory, faults: Faults, synced: bool = True
) -> Workload:
    """A model on the ranks of a layout; synced: the host waits for the device at the end of each step.

    Raises BadRequest for an unknown model and for sizes that do not fit it.
    """
    changes = {key: value for key, value in vars(sizes).items() if value is not None}
    if model not in MODELS:
        raise BadRequest(f"Unknown model {model!r}", f"Models are: {', '.join(MODELS)}.")
    useless = sorted(set(changes) - _SIZES.get(model, set(changes)))
    if useless:
        has = ", ".join(sorted(_SIZES[model])) or "none"
        raise BadRequest(f"{model} has no {useless[0]} to change", f"It has: {has}.")
    wrong = [word for word in faults.as_json() if FAULTS[word].only_decoders]
    if wrong and model not in TRANSFORMERS:
        raise BadRequest(f"{model} has no {wrong[0]}", "Choose a decoder as --model.")
    if model == "resnet50":
        blocks = (3, 4, 6, 3) if sizes.layers is None else (max(1, sizes.layers // 4),) * 4
        return ResNet(layout, kernels, faults, synced, sizes.batch or 64, blocks)
    if model == "linear":
        return Linear(layout, kernels, faults, synced)
    shape = replace(TRANSFORMERS[model], **changes)
    if "micro" not in changes and layout.pp > 1:
        shape = replace(shape, micro=2 * layout.pp)
    if micro := faults.micro_batches:
        if shape.micro % micro:
            what = f"{shape.micro} micro batches cannot be joined to {micro}"
            raise BadRequest(what, "Choose a number that divides --micro-batches.")
        shape = replace(shape, batch=shape.batch * shape.micro // micro, micro=micro)
    return Transformer(layout, kernels, faults, synced, shape)
