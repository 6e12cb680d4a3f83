"""The graph of a Summary file as a GraphDef of TensorBoard."""

from __future__ import annotations

import re
from typing import Any

from tensorboard.compat.proto import graph_pb2

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
