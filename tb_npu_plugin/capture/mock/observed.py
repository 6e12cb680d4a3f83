"""The operators that the observer saw (native/observer.cpp), read without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from tb_npu_plugin.capture.mock.kineto import LIST, Signature, signature_of
from tb_npu_plugin.errors import BadFile

#: Thread, the texts of its different calls, and which of them it ran, in order of their start.
_THREADS = msgspec.json.Decoder(list[tuple[int, list[Raw], list[int]]])
_TENSORS = "tensors"


def read(path: Path) -> dict[int, list[Signature]]:
    """thread -> its operators, in order of their start. Types of tensors in lists are their own. BadFile."""
    known: dict[bytes, Signature] = {}
    out: dict[int, list[Signature]] = {}
    try:
        for tid, texts, order in _THREADS.decode(path.read_bytes()):
            calls = [known.get(bytes(text)) or known.setdefault(bytes(text), _signature(text)) for text in texts]
            out[tid] = [calls[number] for number in order]
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as problem:
        raise BadFile(f"{path} cannot be used: {problem}", "Record it again.") from problem
    return out


def _signature(text: Raw) -> Signature:
    name, *arguments = msgspec.json.decode(text)
    return signature_of(name, *zip(*map(_argument, arguments))) if arguments else Signature(name)


def _argument(found: Any) -> tuple[Any, str, str, str]:
    """Shape, type and text as PyTorch's profiler tells them, and the type of the tensors in a list."""
    if isinstance(found, dict):
        tensors = [tensor or [""] for tensor in found[_TENSORS]]
        return [tensor[1:] for tensor in tensors], LIST, "", tensors[0][0] if tensors else ""
    if isinstance(found, list) and found and isinstance(found[0], str):
        return found[1:], found[0], "", ""
    if found is None:
        return [], "", "", ""
    return [], "ScalarList" if isinstance(found, list) else "Scalar", str(found), ""
