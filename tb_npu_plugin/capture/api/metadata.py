"""What add_metadata and add_metadata_json accept (docs/facts/torch_npu_api.md, profile)."""

from __future__ import annotations

import json
from math import isinf
from sys import getsizeof
from typing import Any

from tb_npu_plugin.capture.api.messages import warn

#: Characters of a key or a value.
LONGEST_TEXT = 4096
#: Bytes of all of it, as sys.getsizeof counts.
LARGEST_METADATA = 50 * 1024


def _is_valid(metadata: dict[str, Any], key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not isinstance(value, str):
        warn("The key and value of metadata must be string. Skip this metadata.")
        return False
    if max(len(key), len(value)) > LONGEST_TEXT:
        warn("Invalid input key or value. Skip this metadata.")
        return False
    if getsizeof(metadata) + getsizeof(key) + getsizeof(value) >= LARGEST_METADATA:
        warn("Too many metadata added. Skip this metadata")
        return False
    return True


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(constant)


def _float(text: str) -> float:
    """The number; refuses one that overflows to Infinity."""
    number = float(text)
    if isinf(number):
        _refuse(text)
    return number


def _store(metadata: dict[str, Any], key: str, value: Any) -> None:
    if key in metadata:
        warn(f"{key} is already saved as metadata, override it.")
    metadata[key] = value


def add(metadata: dict[str, Any], key: Any, value: Any) -> None:
    """Add a text; or a list or an object, as the vendor's guide does."""
    if isinstance(value, (list, dict)):
        add_json(metadata, key, json.dumps(value, default=str))
    elif _is_valid(metadata, key, value):
        _store(metadata, key, value)


def add_json(metadata: dict[str, Any], key: Any, value: Any) -> None:
    """Add the value of a JSON text; or a list or an object as it is."""
    if isinstance(value, (list, dict)):
        value = json.dumps(value, default=str)
    if not _is_valid(metadata, key, value):
        return
    try:
        parsed = json.loads(value, parse_constant=_refuse, parse_float=_float)
    except (ValueError, RecursionError):
        warn("The metadata value must be json format string. Skip this metadata")
        return
    _store(metadata, key, parsed)
