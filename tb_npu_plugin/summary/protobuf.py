"""The messages of Summary files, as classes of protobuf. Fields that nothing reads are left out.
Source: docs/facts/summary.md, Messages.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

_PACKAGE = "tb_npu_plugin.summary"


def _build() -> descriptor_pool.DescriptorPool:
    """The messages of messages.csv. "*" after a type: repeated. Other types than those of protobuf are messages of the
    table. Maps are repeated pairs of a key and a value on the wire."""
    file = descriptor_pb2.FileDescriptorProto(name="summary.proto", package=_PACKAGE, syntax="proto2")
    with (Path(__file__).parent / "messages.csv").open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    messages = {name: file.message_type.add(name=name) for name in dict.fromkeys(row["message"] for row in rows)}
    for row in rows:
        field = messages[row["message"]].field.add(number=int(row["number"]), name=row["field"])
        field.label = _Field.LABEL_REPEATED if row["type"].endswith("*") else _Field.LABEL_OPTIONAL
        kind = row["type"].rstrip("*")
        if kind in messages:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
        else:
            field.type = _Field.Type.Value(f"TYPE_{kind.upper()}")
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
