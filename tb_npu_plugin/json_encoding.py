"""JSON that every client can read, whatever the data hold."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np


def encode_json(content: Any) -> bytes:
    """UTF-8 JSON. A float that is not finite becomes null, which msgspec does; a lone surrogate, which a JSON file may
    hold and UTF-8 may not, becomes a question mark."""
    try:
        return msgspec.json.encode(content, enc_hook=_plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(content), enc_hook=_plain)


def to_plain(content: Any) -> Any:
    """Dataclasses as dicts, numpy scalars and messages as Python's own types."""
    return msgspec.to_builtins(content, enc_hook=_plain)


def _plain(value: Any) -> Any:
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
