"""Slices by the values of their arguments. Reads the file of the arguments once, in blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest, NotFound
from tb_npu_plugin.messages import Message
from tb_npu_plugin.refusal import raise_if_exhausted
from tb_npu_plugin.scan.args import ArgsFile, decode
from tb_npu_plugin.store.timeline.drawn import Drawn
from tb_npu_plugin.store.timeline.stats import check_client

Index = NDArray[np.int64]
#: Bytes per read, and bytes of the next block that are looked at for an argument that begins in one.
_BLOCK, _OVERLAP = 1 << 24, 1 << 20
#: Most places of the argument in the file: memory and time grow with them.
MAX_PLACES = 1 << 20
_VALUES = msgspec.json.Decoder(dict[str, msgspec.Raw])


def slices_with_arg(drawn: Drawn, key: str, text: str, pieces: Iterator[Index], is_gone: Callable[[], bool]) -> Index:
    """Those of the slices (ascending ids, in pieces) with an argument whose value is a text, list or object that holds `text`, or
    the number `text` as the file writes it, ignoring the case of ASCII letters. key: name of the argument, "" for any.

    Raises BadRequest if the file holds it more than MAX_PLACES times, NotFound if the file cannot be read, ClientGone.
    """
    try:
        with drawn.open_args() as file:
            places = _places(file, key, text, is_gone)
            found = [_verified(drawn, file, key, text, ids, is_gone) for ids in _candidates(drawn, places, pieces)]
    except OSError as error:
        raise_if_exhausted(error)
        reason = error.strerror or str(error)
        raise NotFound(Message("error.trace_closed", reason=reason), Message("hint.permissions")) from error
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _places(file: ArgsFile, key: str, text: str, is_gone: Callable[[], bool]) -> Index:
    """Offsets in the file at which such an argument may be, ascending."""
    pattern = _written(text)
    if key:
        value = rb'(?:[\[{]|"(?:[^"\\]|\\.)*?%b|%b\s*[,}])' % (pattern, pattern)
        pattern = rb'"%b"\s*:\s*%b' % (_written(key), value)
    compiled = re.compile(pattern, re.DOTALL)
    found: list[int] = []
    for start in range(0, file.stamp()[0], _BLOCK):
        check_client(is_gone)
        block = file.read(start, _BLOCK + _OVERLAP).lower()
        places = (start + match.start() for match in compiled.finditer(block) if match.start() < _BLOCK)
        found += islice(places, MAX_PLACES + 1 - len(found))
        if len(found) > MAX_PLACES:
            raise BadRequest(Message("error.search_frequent", text=text[:80], limit=MAX_PLACES), Message("hint.search"))
    return np.array(found, dtype=np.int64)


def _written(text: str) -> bytes:
    """Pattern of a text as a JSON file may write it."""
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return b"(?:%b)" % b"|".join(re.escape(form.encode("utf-8", "replace").lower()) for form in forms)


def _candidates(drawn: Drawn, places: Index, pieces: Iterator[Index]) -> Iterator[Index]:
    """Slices with the text somewhere in their arguments."""
    for ids in pieces:
        begin, length = drawn.args_bounds(ids)
        at = np.searchsorted(places, begin)
        has_place = (begin >= 0) & (at < len(places))
        has_place[has_place] = places[at[has_place]] < (begin + length)[has_place]
        if has_place.any():
            yield ids[has_place]


def _verified(drawn: Drawn, file: ArgsFile, key: str, text: str, ids: Index, is_gone: Callable[[], bool]) -> Index:
    """Those whose value of the key holds the text."""
    check_client(is_gone)
    begin, length = drawn.args_bounds(ids)
    order = np.argsort(begin)
    wanted, key = _lower(text), _lower(key)
    matches = [
        any(_holds(value, wanted) for name, value in _values(data) if not key or _lower(name) == key)
        for data in file.each(begin[order], length[order])
    ]
    return np.sort(ids[order[np.array(matches, dtype=np.bool_)]])


def _values(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(key, value as JSON) of each argument."""
    try:
        for key, raw in _VALUES.decode(data).items():
            yield key, bytes(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for key, value in (decode(data) or {}).items():
            yield key, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _holds(value: bytes, wanted: str) -> bool:
    """Whether a value is what is wanted."""
    if value[:1] == b'"':
        return wanted in _lower(msgspec.json.decode(value))
    written = _lower(value.decode("utf-8", "replace"))
    return wanted in written if value[:1] in (b"[", b"{") else wanted == written


def _lower(text: str) -> str:
    """ASCII letters in lower case."""
    return text.encode("utf-8", "replace").lower().decode("utf-8", "replace")
