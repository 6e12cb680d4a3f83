"""Records of an event file: length, checksum of the length, data, checksum of the data (the framing of TFRecord); and
the messages in those of Summary files.
Source: docs/facts/summary.md, Framing.
"""

from __future__ import annotations

import csv
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Optional

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.summary.writer.record_writer import masked_crc32c

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of

#: Length and its checksum, before the data.
HEADER = struct.Struct("<QI")
#: Checksum of the data, after it.
FOOTER = struct.Struct("<I")
#: Bytes that are read at a time when the next header is looked for.
_BLOCK = 1 << 20
#: Times the bytes of a file that damaged records may be read: headers inside of one may claim to reach to the end, too.
_MOST_DAMAGE = 2
#: The upper half of the length of a record below 4 GiB.
_ZEROS = b"\0\0\0\0"


class Record(NamedTuple):
    """A record and its bytes in the file: [start, end). data: None if it is damaged."""

    start: int
    end: int
    data: Optional[bytes]


def read_records(file: BinaryIO, start: int) -> Iterator[Record]:
    """The records from a byte on. A damaged record ends where the next intact header begins.

    Stops at an incomplete record at the end of the file: it may still be being written. Where too many damaged records
    overlap, the rest of the file is one of them.
    """
    size = os.fstat(file.fileno()).st_size
    damage_left = _MOST_DAMAGE * size
    while start < size:
        length = _length_at(file, start)
        end: int | None = None
        data = None
        if length is not None:
            end = start + HEADER.size + length + FOOTER.size
            if end > size:
                return
            data = _data_at(file, start, end)
            damage_left -= 0 if data is not None else length
        if damage_left < 0:
            yield Record(start, size, None)
            return
        if end is None or (data is None and end < size and _length_at(file, end) is None):
            end = _next_header(file, start + 1, size)
            if end is None:
                return
        yield Record(start, end, data)
        start = end


def _length_at(file: BinaryIO, start: int) -> int | None:
    """Length of the data of the record that begins here; None if no intact header does."""
    file.seek(start)
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, checksum = HEADER.unpack(header)
    return int(length) if masked_crc32c(header[:8]) == checksum else None


def _data_at(file: BinaryIO, start: int, end: int) -> bytes | None:
    """Data of the record at [start, end); None if its checksum is wrong."""
    file.seek(start + HEADER.size)
    data = file.read(end - start - HEADER.size - FOOTER.size)
    footer = file.read(FOOTER.size)
    is_intact = len(footer) == FOOTER.size and FOOTER.unpack(footer)[0] == masked_crc32c(data)
    return data if is_intact else None


def _next_header(file: BinaryIO, start: int, size: int) -> int | None:
    """First byte from `start` on at which an intact header begins."""
    while start + HEADER.size <= size:
        file.seek(start)
        block = file.read(_BLOCK)
        at = block.find(_ZEROS, 4)
        while at != -1:
            if at + 8 <= len(block) and masked_crc32c(block[at - 4 : at + 4]) == FOOTER.unpack_from(block, at + 4)[0]:
                return start + at - 4
            at = block.find(_ZEROS, at + 1)
        start += max(len(block) - HEADER.size + 1, 1)
    return None


# Problems of Summary files.

#: Problems of one kind that are listed for a file; further ones are counted.
MAX_LISTED = 20


def add_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem. Beyond MAX_LISTED of one kind and file, only count it."""
    same = [number for number, one in enumerate(problems) if (one.code, one.file) == (problem.code, problem.file)]
    if len(same) < MAX_LISTED:
        problems.append(problem)
    else:
        problems[same[-1]] = replace(problems[same[-1]], count=problems[same[-1]].count + 1)


def damaged(file: str, record: Record) -> Problem:
    """A record that is no event."""
    return problem_of("summary_record", file, f"byte {record.start}", count=record.end - record.start)


def unsupported(file: str, record: Record, kind: str) -> Problem:
    """A value that TensorBoard cannot show."""
    return problem_of("summary_kind", file, f"byte {record.start}", found=kind)


def incomplete(file: str, end: int, size: int) -> Problem:
    """The last record, which begins at byte `end` of `size`."""
    return problem_of("summary_tail", file, f"byte {end}", count=size - end)


def unreadable(file: str, error: OSError) -> Problem:
    """A source that cannot be read at present."""
    return problem_of(
        "unreadable_file",
        file,
        expected=Message("expected.readable_file"),
        found=error.strerror or str(error),
        lost=Message("lost.file_content"),
        action=Message("action.restore_file"),
    )


_Field = descriptor_pb2.FieldDescriptorProto

_PACKAGE = "tb_npu_plugin.summary"


def _build() -> descriptor_pool.DescriptorPool:
    """The messages of Summary files, as messages.csv lists them; fields that nothing reads are left out. Source:
    docs/facts/summary.md, Messages. "*" after a type: repeated. Other types than those of protobuf are messages of the
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
