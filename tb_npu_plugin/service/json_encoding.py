"""JSON that every client can read, whatever the data hold."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def encode_json(content: Any) -> bytes:
    """UTF-8 JSON. A float that is not finite is null (msgspec writes it so), as JSON has no word for it; half a
    surrogate pair, which a JSON file may hold but UTF-8 may not, becomes a question mark."""
    try:
        return msgspec.json.encode(content, enc_hook=_plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(content), enc_hook=_plain)


def _plain(value: Any) -> Any:
    """numpy's scalars and messages as Python's."""
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
