"""What MindSpore's compiled graphs say about their operators (its list of launches has neither types nor groups), and its groups.
Source: docs/facts/ascend_ms.md, Compiled graphs of MindSpore."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

_UNKNOWN: dict[str, Any] = {"inputs": [], "output": None, "group": ""}


def compiled_nodes() -> dict[str, dict[str, Any]]:
    """Node -> its "inputs", "output" and "group" (see raw_data.Node); {} where this version lacks the private names."""
    try:
        from mindspore import _c_expression as native
        from mindspore.common import api
        from mindspore.train import anf_ir_pb2 as schema

        phases = {*api.ms_compile_cache, *chain.from_iterable(api.cells_compile_cache.values())}
        classes = ("GraphExecutor_", "JitExecutor_")  # of cells and of functions under `jit`
        executors = [getattr(native, name).get_instance() for name in classes if hasattr(native, name)]
        compiled = [(executor, phase) for executor in executors for phase in phases if executor.has_compiled(phase)]
        texts = [executor.get_func_graph_proto(phase, "anf_ir", False) for executor, phase in compiled]
    except (ImportError, AttributeError):
        return {}
    return merged(node for text in texts for node in _nodes(schema, schema.ModelProto.FromString(text).graph))


def merged(nodes: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Nodes by name. What two graphs say differently about one is unknown: the output for a last batch that is smaller."""
    out: dict[str, dict[str, Any]] = {}
    for name, node in nodes:
        before = out.setdefault(name, node)
        out[name] = {key: value if value == before[key] else _UNKNOWN[key] for key, value in node.items()}
    return out


def ranks_of(groups: Iterable[str]) -> dict[str, list[int]]:
    """Group -> its ranks; without those that MindSpore does not know."""
    try:
        from mindspore.communication import get_process_group_ranks
    except ImportError:
        return {}
    out = {}
    for name in groups:
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            out[name] = [int(rank) for rank in get_process_group_ranks(name)]
    return out


def _nodes(schema: Any, graph: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    types: dict[str, list[str | None]] = {one.name: _types(schema, one.type) for one in graph.parameters}
    types.update((one.name, _types(schema, one.output_type)) for one in graph.node)
    for one in graph.const_vals:
        if one.value.dtype == schema.DT_TENSOR:
            types[one.key] = [_name(schema, one.value.tensor_val.data_type)]
    for node in graph.node:
        sizes = [dim.size for dim in node.output_type.tensor_type.shape.dim]
        (type_, *others) = _types(schema, node.output_type) or [None]
        output = [sizes, type_] if type_ is not None and not others and min(sizes, default=0) >= 0 else None
        inputs = [type_ for edge in node.input for type_ in types.get(edge.name, [None])]
        group = next((one.value.str_val for one in node.attribute if one.name == "group"), "")
        yield node.full_name, {"inputs": inputs, "output": output, "group": group}


def _types(schema: Any, type_: Any) -> list[str | None]:
    """Types of the elements of a tensor, or of each tensor of a tuple; None if it is not a tensor."""
    if type_.data_type == schema.DT_TUPLE:
        return [one for element in type_.sequence_type.elem_types for one in _types(schema, element)]
    return [_name(schema, type_.tensor_type.elem_type) if type_.data_type == schema.DT_TENSOR else None]


def _name(schema: Any, type_: int) -> str:
    return str(schema.DataType.Name(type_))[len("DT_") :].lower()
