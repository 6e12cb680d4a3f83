"""Lineage: hyperparameters for the HParams dashboard, everything as text for the Text dashboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tensorboard.compat.proto import summary_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import plugin_data_pb2

from tb_npu_plugin.summary.values import scalar, text

#: Converts a lineage, with its time in seconds since the epoch and the hyperparameters of earlier events.
Convert = Callable[[Any, float, "dict[str, Any]"], "list[Any]"]
#: Fields of a train lineage that are results, not hyperparameters.
_RESULTS = ("loss", "path", "size")


def _train(lineage: Any, wall_time: float, hparams: dict[str, Any]) -> list[Any]:
    fields = plain(lineage)
    known = {name: value for group in fields.values() for name, value in group.items() if name not in _RESULTS}
    return [_hparams({**known, **hparams}, wall_time), _json("lineage/train", fields)]


def _evaluation(lineage: Any, wall_time: float, hparams: dict[str, Any]) -> list[Any]:
    """Metrics as scalars, so that HParams shows them beside the hyperparameters."""
    metrics = _metrics(lineage.metric)
    scalars = [scalar(f"eval/{name}", value) for name, value in metrics.items()]
    return [*scalars, _json("lineage/evaluation", plain(lineage))]


def _dataset(graph: Any, wall_time: float, hparams: dict[str, Any]) -> list[Any]:
    return [_json("lineage/dataset", _pipeline(graph))]


def _user(info: Any, wall_time: float, hparams: dict[str, Any]) -> list[Any]:
    """Custom data are hyperparameters of the train lineage, which follows."""
    entries = _entries(info)
    hparams.update({name: value for name, value in entries.items() if not isinstance(value, dict)})
    return [_json("lineage/custom", entries)]


#: By field of a lineage event.
LINEAGE: Mapping[str, Convert] = {
    "train_lineage": _train,
    "evaluation_lineage": _evaluation,
    "dataset_graph": _dataset,
    "user_defined_info": _user,
}


def plain(message: Any) -> dict[str, Any]:
    """The fields of a message that are set, nested."""
    out: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            out[field.name] = plain(value)
        elif field.type == field.TYPE_FLOAT:
            out[field.name] = float(str(np.float32(value)))  # 0.01, not 0.009999999776482582
        else:
            out[field.name] = value
    return out


def _metrics(recorded: str) -> dict[str, float]:
    """Metrics that are numbers; they are recorded as JSON."""
    try:
        found = json.loads(recorded)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


def _entries(info: Any) -> dict[str, Any]:
    """The pairs of all maps."""
    out: dict[str, Any] = {}
    for item in info.user_info:
        out.update(_entries(item))
    for item in info.map_dict:
        out[item.key] = _entries(item.value)
    for item in (*info.map_int32, *info.map_str, *info.map_double):
        out[item.key] = item.value
    return out


def _parameters(parameters: Any) -> dict[str, Any]:
    maps = (parameters.mapStr, parameters.mapBool, parameters.mapInt, parameters.mapDouble)
    out = {item.key: item.value for entries in maps for item in entries}
    return {**out, **{item.key: list(item.value.strValue) for item in parameters.mapStrList}}


def _operation(operation: Any) -> dict[str, Any]:
    out = _parameters(operation.operationParam)
    if operation.size:
        out["size"] = list(operation.size)
    if operation.weights:
        out["weights"] = list(operation.weights)
    return out


def _pipeline(graph: Any) -> dict[str, Any]:
    """An operation of the data pipeline, with those before it."""
    out = _parameters(graph.parameter)
    if graph.operations:
        out["operations"] = [_operation(item) for item in graph.operations]
    if graph.HasField("sampler"):
        out["sampler"] = _operation(graph.sampler)
    if graph.children:
        out["children"] = [_pipeline(item) for item in graph.children]
    return out


def _json(tag: str, content: Mapping[str, Any]) -> Any:
    """The content as a text."""
    return text(tag, f"```json\n{json.dumps(content, indent=2, ensure_ascii=False)}\n```")


def _hparams(hparams: Mapping[str, Any], wall_time: float) -> Any:
    """The start of a session of the HParams dashboard."""
    data = plugin_data_pb2.HParamsPluginData()
    data.session_start_info.start_time_secs = wall_time
    for name, value in hparams.items():
        field = data.session_start_info.hparams[name]
        if isinstance(value, str):
            field.string_value = value
        else:
            field.number_value = value
    out = summary_pb2.Summary.Value(tag=hparams_metadata.SESSION_START_INFO_TAG)
    out.metadata.CopyFrom(hparams_metadata.create_summary_metadata(data))
    out.tensor.CopyFrom(hparams_metadata.NULL_TENSOR)
    return out
