"""The text of a search: words and a regular expression of names, durations, values of arguments."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

import duckdb
import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.messages import Message
from tb_npu_plugin.store.timeline.files import Texts

# Names by regular expression, in a time that is linear in their length whatever the pattern.

#: Names per query.
_AT_ONCE = 1 << 16
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "256MB", "threads": 1}


def names_matching(names: Texts, pattern: str) -> NDArray[np.bool_]:
    """Mask of the names in which an RE2 expression matches, ignoring case. DuckDB runs it: Python's `re` may take
    exponential time. Raises BadRequest."""
    mask = np.zeros(len(names), dtype=np.bool_)
    with duckdb.connect(":memory:", config=_SETTINGS) as connection:
        try:
            connection.execute("select regexp_matches('', ?, 'i')", [pattern]).fetchall()
            for start in range(0, len(names), _AT_ONCE):
                part = np.arange(start, min(start + _AT_ONCE, len(names)))
                listed = {"name": np.array(names.take(part), dtype=object)}
                connection.register("listed", listed)
                found = connection.execute("select regexp_matches(name, ?, 'i') from listed", [pattern]).fetchall()
                mask[part] = list(chain.from_iterable(found))
        except duckdb.Error as error:
            reason = str(error).removeprefix("Invalid Input Error: ")
            raise BadRequest(
                Message("error.pattern", pattern=pattern[:80], reason=reason), Message("hint.pattern")
            ) from error
    return mask


#: Largest length of a search, in characters.
MAX_TEXT = 1000
_TERM = re.compile(
    r"/(?P<pattern>.+?)/(?=\s|$)"
    r"|arg:(?:(?:\"(?P<quoted_key>[^\"]+)\"|(?P<key>[^\s=\"]+))=)?(?:\"(?P<quoted>[^\"]+)\"|(?P<value>[^\s\"]+))(?=\s|$)"
    r"|dur(?P<sign>[<>]=?)(?P<figure>\d{1,15}(?:\.\d{1,9})?)(?P<unit>ns|us|µs|μs|ms|s)?(?=\s|$)"
    r"|(?P<word>\S+)"
)
_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}


@dataclass(frozen=True)
class SliceQuery:
    """What a slice must match.

    Attributes:
        words: Each is part of the name, ignoring case.
        patterns: Regular expressions (RE2) that match in the name, ignoring case.
        least, most: Bounds of the duration, ns, inclusive; None: unbounded.
        args: (key, text): the value of an argument holds the text, ignoring the case of ASCII letters; key "": any argument.
    """

    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    args: tuple[tuple[str, str], ...] = ()


def parse_slice_query(text: str) -> SliceQuery:
    """Parse a search such as `matmul /_v[23]$/ dur>=1.5ms arg:stream=2`. Raises BadRequest."""
    if len(text) > MAX_TEXT:
        raise BadRequest(Message("error.search_long", limit=MAX_TEXT), Message("hint.search"))
    words, patterns, args = [], [], []
    least: int | None = None
    most: int | None = None
    for term in _TERM.finditer(text):
        if term["pattern"]:
            patterns.append(term["pattern"])
        elif term["sign"]:
            figure = Decimal(term["figure"]) * _NS[term["unit"] or "ns"]
            if term["sign"][0] == ">":
                bound = math.floor(figure) + 1 if term["sign"] == ">" else math.ceil(figure)
                least = bound if least is None else max(least, bound)
            else:
                bound = math.ceil(figure) - 1 if term["sign"] == "<" else math.floor(figure)
                most = bound if most is None else min(most, bound)
        elif term["quoted"] or term["value"]:
            args.append((term["quoted_key"] or term["key"] or "", term["quoted"] or term["value"]))
        elif re.match(r"dur[<>]|arg:", term["word"]):
            raise BadRequest(Message("error.search_term", term=term["word"][:80]), Message("hint.search"))
        else:
            words.append(term["word"])
    return SliceQuery(tuple(words), tuple(patterns), least, most, tuple(args))
