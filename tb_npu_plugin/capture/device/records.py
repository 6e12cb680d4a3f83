"""Reads what the simulated device recorded; native/records.cpp has the layout."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from tb_npu_plugin.capture.device.build import extension

#: One record; the fields are explained in native/records.cpp.
_FIELDS = {"<i8": "entry begin end exit stream id bytes sequence", "<i4": "signature thread", "<i2": "device"}
_FIELDS |= {"u1": "kind detail flags", "V3": "unused"}
RECORD = np.dtype([(name, type_) for type_, names in _FIELDS.items() for name in names.split()])
assert RECORD.itemsize == 80
#: One record as a tuple, of `RECORD`.tolist().
Record: Any = namedtuple("Record", RECORD.names or ())  # type: ignore[misc]

#: Of a record.
Kind = IntEnum(
    "Kind", "OPERATOR VIEW COPY SYNC EVENT_RECORD STREAM_WAIT ALLOCATE FREE COLLECTIVE COLLECTIVE_WAIT ARRIVAL", start=0
)
#: `detail` of a copy.
Copy = IntEnum("Copy", "HOST_TO_DEVICE DEVICE_TO_HOST DEVICE_TO_DEVICE", start=0)
#: `detail` of a synchronization: what the host waits for.
Sync = IntEnum("Sync", "EVENT STREAM DEVICE SCALAR COPY SHAPE", start=0)
#: Bit of `flags`: the call is part of a backward pass.
BACKWARD = 4


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a signature. dtype: C++ name of its type, as "c10::Half"; device: -1 for the host; is_number: a number of
    Python."""

    shape: tuple[int, ...]
    dtype: str
    device: int
    is_number: bool = False


#: An argument or result of an operator; Ellipsis: a number whose value no kernel depends on.
Value = Union[TensorInfo, tuple["Value", ...], int, float, bool, str, None, Any]


@dataclass(frozen=True)
class Signature:
    """An operator with its arguments, in the order of its schema."""

    name: str
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Tensors among the arguments, those of lists too."""
        return tensors_in(self.arguments)

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Tensors among the results."""
        return tensors_in(self.results)


@dataclass(frozen=True)
class Recording:
    """Records by the time of their exit; records["signature"] counts in signatures. lost: records without room."""

    records: npt.NDArray[np.void]
    signatures: list[Signature]
    lost: int

    def of(self, *kinds: Kind) -> npt.NDArray[np.void]:
        """The records of these kinds."""
        return self.records[np.isin(self.records["kind"], kinds)]


#: Of a process without a device.
NOTHING = Recording(np.zeros(0, RECORD), [], 0)


def start(ceiling: int = 1 << 30) -> None:
    """Record from now, in all threads, up to `ceiling` bytes of memory; what was recorded before is dropped."""
    extension().start_recording(ceiling)


def stop() -> Recording:
    """Stop recording and return what was recorded."""
    extension().stop_recording()
    return _recording(*extension().take_records())


def save(path: Path) -> Recording:
    """Stop recording; write and return what was recorded."""
    extension().stop_recording()
    records, signatures, lost = extension().take_records()
    columns = {"records": np.frombuffer(records, "u1"), "signatures": np.frombuffer(signatures.encode(), "u1")}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, lost=lost, **columns)
    return _recording(records, signatures, lost)


def load(path: Path) -> Recording:
    """What `save` wrote. Raises OSError, ValueError, KeyError."""
    with np.load(path, allow_pickle=False) as found:
        return _recording(found["records"], found["signatures"].tobytes().decode(), int(found["lost"]))


def tensors_in(values: tuple[Value, ...]) -> tuple[TensorInfo, ...]:
    """The tensors among values, those of lists too."""
    inner = (tensors_in(value) if isinstance(value, tuple) else (value,) for value in values)
    return tuple(one for found in inner for one in found if isinstance(one, TensorInfo))


def _recording(records: Any, signatures: str, lost: int) -> Recording:
    """Decode the bytes of records, and signatures (native/records.cpp), a JSON list."""
    found = json.loads(signatures, strict=False)
    decoded = [Signature(name, _value(arguments), _value(results)) for name, arguments, results in found]
    return Recording(np.frombuffer(records, RECORD), decoded, lost)


def _value(found: Any) -> Any:
    """A Value. {}: a number that no kernel depends on."""
    if isinstance(found, list):
        return tuple(map(_value, found))
    if not isinstance(found, dict):
        return found
    return TensorInfo(**{**found, "shape": tuple(found["shape"])}) if found else ...
