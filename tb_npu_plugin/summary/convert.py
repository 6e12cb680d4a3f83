"""Converts one event of MindSpore into the event of TensorBoard. One function per kind of value."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tensorboard.compat.proto import event_pb2, graph_pb2, summary_pb2
from tensorboard.plugins.histogram import metadata as histograms
from tensorboard.util import tensor_util

from tb_npu_plugin.summary.lineage import LINEAGE
from tb_npu_plugin.summary.values import scalar

# The graph of a Summary file as a GraphDef of TensorBoard.

#: Version of the GraphDef that TensorBoard's own converters write.
_PRODUCER = 22
#: Type of an input that only orders two nodes.
_CONTROL = 1
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\\/-]")


def graph_def(graph: Any) -> graph_pb2.GraphDef:
    """The nodes named by their scope, with the shapes of their results; parameters and constants in groups. An
    input without a node of its name is left out."""
    out = graph_pb2.GraphDef()
    out.versions.producer = _PRODUCER
    names: dict[str, str] = {}
    taken: set[str] = set()
    for item in graph.parameters:
        names[item.name] = _unique(f"Parameters/{item.name}", taken)
        _add_shape(out.node.add(name=names[item.name], op="Parameter"), item.type)
    for item in graph.const_vals:
        names[item.key] = _unique(f"Constants/{item.key}", taken)
        out.node.add(name=names[item.key], op="Const")
    for node in graph.node:
        names[node.name] = _unique(node.full_name or f"{node.scope}/{node.op_type}-{node.name}", taken)
    for node in graph.node:
        inputs = [
            ("^" if item.type == _CONTROL else "") + names[item.name] for item in node.input if item.name in names
        ]
        _add_shape(out.node.add(name=names[node.name], op=node.op_type, input=inputs), node.output_type)
    return out


def _unique(name: str, taken: set[str]) -> str:
    """A valid name that no other node has; adds it to `taken`."""
    name = _NOT_IN_NAMES.sub("_", name).strip("/")
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    taken.add(unique)
    return unique


def _add_shape(node: Any, kind: Any) -> None:
    """Add the shape that the page writes on the edges."""
    if kind.HasField("tensor_type"):
        shape = node.attr["_output_shapes"].list.shape.add()
        for dim in kind.tensor_type.shape.dim:
            shape.dim.add(size=dim.size)


#: What one value becomes.
Values = list[Any]
#: First event of a file of TensorBoard.
FILE_VERSION = "brain.Event:2"


@dataclass
class Memory:
    """What later events of a run need from earlier ones; JSON keeps it between two readings of a growing file.

    repeats   digest of the last value of each tag, with its step
    hparams   hyperparameters of the custom lineage data so far
    """

    repeats: dict[str, str] = field(default_factory=dict)
    hparams: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Converted:
    """An event of TensorBoard (None if nothing is left of it), and the kinds of its values that TensorBoard cannot show."""

    event: event_pb2.Event | None
    unsupported: tuple[str, ...] = ()


def convert_event(event: Any, memory: Memory) -> Converted:
    """Convert an event of a Summary file. A value that repeats the last one of its tag and step is left out:
    SummaryCollector records the last step of an epoch twice."""
    out = event_pb2.Event(wall_time=event.wall_time, step=event.step)
    if event.HasField("graph_def"):
        out.graph_def = graph_def(event.graph_def).SerializeToString()
        return Converted(out)
    unsupported = ["explain"] if event.HasField("explain") else []
    for value in event.summary.value:
        kind = next((kind for kind in VALUES if value.HasField(kind)), None)
        if kind is None:
            unsupported.append("landscape" if value.HasField("loss_landscape") else "unknown")
        elif not _is_repeat(value, event.step, memory):
            out.summary.value.extend(VALUES[kind](value))
    return Converted(out if out.summary.value else None, tuple(unsupported))


def convert_lineage(event: Any, memory: Memory) -> Converted:
    """Convert an event of a lineage file."""
    out = event_pb2.Event(wall_time=event.wall_time, step=event.step)
    for kind, convert in LINEAGE.items():
        if event.HasField(kind):
            out.summary.value.extend(convert(getattr(event, kind), event.wall_time, memory.hparams))
            return Converted(out)
    return Converted(None, () if event.HasField("version") else ("unknown",))


def _is_repeat(value: Any, step: int, memory: Memory) -> bool:
    content = b"%d " % step + value.SerializeToString()
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    is_repeat = memory.repeats.get(value.tag) == digest
    memory.repeats[value.tag] = digest
    return is_repeat


def _scalar(value: Any) -> Values:
    return [scalar(value.tag, value.scalar_value)]


def _image(value: Any) -> Values:
    """The encoded bytes as they are."""
    image = value.image
    out = summary_pb2.Summary.Value(tag=value.tag)
    out.image.height, out.image.width, out.image.colorspace = image.height, image.width, image.colorspace
    out.image.encoded_image_string = image.encoded_image
    return [out]


def _histogram(value: Any) -> Values:
    """The buckets as they are, as rows of [left, right, count]. Values that are in no bucket (NaN, infinite) become
    scalars, where there are any."""
    histogram = value.histogram
    rows = [(bucket.left, bucket.left + bucket.width, bucket.count) for bucket in histogram.buckets]
    out = summary_pb2.Summary.Value(tag=value.tag)
    out.metadata.CopyFrom(histograms.create_summary_metadata(display_name=None, description=""))
    out.tensor.CopyFrom(tensor_util.make_tensor_proto(np.array(rows, dtype=np.float64).reshape(-1, 3)))
    counts = {"nan": histogram.nan_count, "inf": histogram.pos_inf_count, "-inf": histogram.neg_inf_count}
    return [out, *(scalar(f"{value.tag}/{name}", count) for name, count in counts.items() if count)]


def _tensor(value: Any) -> Values:
    """Statistics of the finite values: TensorBoard has no dashboard for tensors. The numbers of the others, where there
    are any."""
    numbers = np.array(value.tensor.float_data, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    statistics: dict[str, float] = {}
    if finite.size:
        statistics = {"min": finite.min(), "mean": finite.mean(), "max": finite.max(), "std": finite.std()}
    counts = {"nan": np.isnan(numbers).sum(), "inf": np.isposinf(numbers).sum(), "-inf": np.isneginf(numbers).sum()}
    statistics |= {name: count for name, count in counts.items() if count}
    return [scalar(f"{value.tag}/{name}", number) for name, number in statistics.items()]


#: By field of a value.
VALUES: Mapping[str, Callable[[Any], Values]] = {
    "scalar_value": _scalar,
    "image": _image,
    "histogram": _histogram,
    "tensor": _tensor,
}
