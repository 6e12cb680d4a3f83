"""The messages of Summary files, as classes of protobuf. Fields that nothing reads are left out.
Source: docs/facts/summary.md, Messages.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

#: Name of each message: number, name and type of its fields. "*" after the type: repeated. Other types than those of protobuf are messages of this table.
_MESSAGES: dict[str, tuple[tuple[int, str, str], ...]] = {
    "Event": (
        (1, "wall_time", "double"),
        (2, "step", "int64"),
        (3, "version", "string"),
        (4, "graph_def", "Graph"),
        (5, "summary", "Summary"),
        (6, "explain", "bytes"),
    ),
    "Summary": ((1, "value", "Value*"),),
    "Value": (
        (1, "tag", "string"),
        (3, "scalar_value", "float"),
        (4, "image", "Image"),
        (8, "tensor", "Tensor"),
        (9, "histogram", "Histogram"),
        (10, "loss_landscape", "bytes"),
    ),
    "Image": ((1, "height", "int32"), (2, "width", "int32"), (3, "colorspace", "int32"), (4, "encoded_image", "bytes")),
    "Tensor": ((1, "dims", "int64*"), (2, "data_type", "int32"), (3, "float_data", "float*")),
    "Histogram": (
        (1, "buckets", "Bucket*"),
        (2, "nan_count", "int64"),
        (3, "pos_inf_count", "int64"),
        (4, "neg_inf_count", "int64"),
    ),
    "Bucket": ((1, "left", "double"), (2, "width", "double"), (3, "count", "int64")),
    "Graph": ((1, "node", "Node*"), (3, "parameters", "Parameter*"), (5, "const_vals", "Constant*")),
    "Node": (
        (1, "input", "Input*"),
        (2, "name", "string"),
        (3, "op_type", "string"),
        (4, "scope", "string"),
        (6, "output_type", "Type"),
        (8, "full_name", "string"),
    ),
    "Input": ((1, "name", "string"), (2, "type", "int32")),
    "Parameter": ((1, "name", "string"), (2, "type", "Type")),
    "Constant": ((1, "key", "string"),),
    "Type": ((2, "tensor_type", "TensorType"),),
    "TensorType": ((2, "shape", "Shape"),),
    "Shape": ((1, "dim", "Dim*"),),
    "Dim": ((1, "size", "int64"),),
    "LineageEvent": (
        (1, "wall_time", "double"),
        (2, "step", "int64"),
        (3, "version", "string"),
        (6, "train_lineage", "TrainLineage"),
        (7, "evaluation_lineage", "EvaluationLineage"),
        (9, "dataset_graph", "DatasetGraph"),
        (10, "user_defined_info", "UserInfo"),
    ),
    "TrainLineage": (
        (1, "hyper_parameters", "HyperParameters"),
        (2, "train_dataset", "TrainDataset"),
        (3, "algorithm", "Algorithm"),
        (4, "model", "Model"),
    ),
    "HyperParameters": (
        (1, "optimizer", "string"),
        (2, "learning_rate", "float"),
        (3, "loss_function", "string"),
        (4, "epoch", "int32"),
        (5, "parallel_mode", "string"),
        (6, "device_num", "int32"),
        (8, "batch_size", "int32"),
    ),
    "TrainDataset": ((1, "train_dataset_path", "string"), (2, "train_dataset_size", "int32")),
    "Algorithm": ((1, "network", "string"), (2, "loss", "float")),
    "Model": ((3, "path", "string"), (4, "size", "int64")),
    "EvaluationLineage": ((2, "metric", "string"), (3, "valid_dataset", "ValidDataset")),
    "ValidDataset": ((1, "valid_dataset_path", "string"), (2, "valid_dataset_size", "int32")),
    "DatasetGraph": (
        (1, "children", "DatasetGraph*"),
        (2, "parameter", "Parameters"),
        (3, "operations", "Operation*"),
        (4, "sampler", "Operation"),
    ),
    "Operation": ((1, "operationParam", "Parameters"), (2, "size", "int32*"), (3, "weights", "float*")),
    # Maps are repeated pairs of a key and a value on the wire.
    "Parameters": (
        (1, "mapStr", "TextEntry*"),
        (2, "mapStrList", "TextListEntry*"),
        (3, "mapBool", "FlagEntry*"),
        (4, "mapInt", "IntegerEntry*"),
        (5, "mapDouble", "NumberEntry*"),
    ),
    "UserInfo": (
        (1, "user_info", "UserInfo*"),
        (2, "map_dict", "UserInfoEntry*"),
        (3, "map_int32", "IntegerEntry*"),
        (4, "map_str", "TextEntry*"),
        (5, "map_double", "NumberEntry*"),
    ),
    "TextEntry": ((1, "key", "string"), (2, "value", "string")),
    "TextListEntry": ((1, "key", "string"), (2, "value", "TextList")),
    "TextList": ((1, "strValue", "string*"),),
    "FlagEntry": ((1, "key", "string"), (2, "value", "bool")),
    "IntegerEntry": ((1, "key", "string"), (2, "value", "int32")),
    "NumberEntry": ((1, "key", "string"), (2, "value", "double")),
    "UserInfoEntry": ((1, "key", "string"), (2, "value", "UserInfo")),
}
_PACKAGE = "tb_npu_plugin.summary"


def _build() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="summary.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            label = _Field.LABEL_REPEATED if kind.endswith("*") else _Field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _MESSAGES:
                message.field.add(
                    number=number, name=field, label=label, type=_Field.TYPE_MESSAGE, type_name=f".{_PACKAGE}.{kind}"
                )
            else:
                message.field.add(
                    number=number, name=field, label=label, type=_Field.Type.Value(f"TYPE_{kind.upper()}")
                )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _message_class(pool: descriptor_pool.DescriptorPool, name: str) -> Any:
    descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)  # protobuf before 4.22


_POOL = _build()
#: An event of a Summary file. `what` it holds: version, graph_def, summary or explain.
Event: Any = _message_class(_POOL, "Event")
#: An event of a lineage file.
LineageEvent: Any = _message_class(_POOL, "LineageEvent")
