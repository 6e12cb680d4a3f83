"""Encodes data as JSON that every client can parse."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def encode_json(content: Any) -> bytes:
    """UTF-8 JSON. msgspec writes floats that are not finite as null. Lone surrogates (valid in a JSON file, not in
    UTF-8) become "?"."""
    try:
        return msgspec.json.encode(content, enc_hook=_encode_other)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(content), enc_hook=_encode_other)


def to_plain(content: Any) -> Any:
    """Convert dataclasses to dicts, and numpy scalars and messages to built-in types."""
    return msgspec.to_builtins(content, enc_hook=_encode_other)


def _encode_other(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no JSON for {type(value).__name__}")


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value
